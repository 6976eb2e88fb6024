/**
 * Operations of ONVIF on a camera's own events, by pull point. What they say of time is never needed: lives are durations,
 * since clocks of cameras are wrong.
 * @source ONVIF Core Specification 9.1 (pull point), 9.4 (properties), 9.11 (topics); OASIS WS-BaseNotification 1.3, 6.1;
 *   Web Services Addressing 1.0, SOAP Binding 3.5 (reference parameters)
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import type { OnvifOperation } from './onvif.ts'
import { ADDRESSING } from './soap.ts'
import { childrenOf, elementAt, escapeXml, textAt, type XmlElement } from './xml.ts'

export const EVENTS = 'http://www.onvif.org/ver10/events/wsdl'
const NOTIFICATION = 'http://docs.oasis-open.org/wsn/b-2'
const MANAGER = 'http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager'

/** Where a camera keeps what it has to say. */
export interface PullPoint {
  /** As the camera says it: see `atHost`. */
  address: string
  /** What names it in the header of each question; empty for cameras that name it by its address. */
  named: string
  /** How long it lasts unless it is renewed; undefined where the camera does not say. */
  lifeMs: number | undefined
}

export function createPullPoint(lifeS: number): OnvifOperation<PullPoint> {
  return {
    addressing: action(`${EVENTS}/EventPortType/CreatePullPointSubscriptionRequest`),
    body: `<CreatePullPointSubscription xmlns="${EVENTS}"><InitialTerminationTime>PT${lifeS}S</InitialTerminationTime></CreatePullPointSubscription>`,
    answer: 'CreatePullPointSubscriptionResponse',
    read(answer) {
      const address = textAt(answer, 'SubscriptionReference', 'Address')
      if (address === undefined)
        throw new Fault('onvif_broken', 'The camera takes the subscription and says no address.')
      const parameters = elementAt(answer, 'SubscriptionReference', 'ReferenceParameters')?.children ?? []
      return { address, named: parameters.slice(0, MOST_PARAMETERS).map(echoed).join(''), lifeMs: lifeOf(answer) }
    },
  }
}

const MOST_PARAMETERS = 8
const LONGEST_PARAMETER = 256

/** Cameras that have one address for all subscriptions tell them apart by what is sent back to them. */
function echoed({ name, namespace = '', text }: XmlElement): string {
  if (!/^[A-Za-z_][\w.-]{0,63}$/.test(name) || text.length > LONGEST_PARAMETER || namespace.length > LONGEST_PARAMETER)
    return ''
  const own = `xmlns="${escapeXml(namespace)}" xmlns:wsa="${ADDRESSING}" wsa:IsReferenceParameter="true"`
  return `<${name} ${own}>${escapeXml(text)}</${name}>`
}

/** Both instants are of the camera's clock, whatever that shows. */
function lifeOf(answer: XmlElement): number | undefined {
  const lifeMs = instantOf(textAt(answer, 'TerminationTime')) - instantOf(textAt(answer, 'CurrentTime'))
  return lifeMs > 0 ? lifeMs : undefined
}

function instantOf(text: string | undefined): number {
  return text !== undefined && /^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)?$/.test(text) ? Date.parse(text) : NaN
}

/** What a camera says of itself. */
export interface CameraNotice {
  /** Without prefixes: `RuleEngine/CellMotionDetector/Motion`. */
  topic: string
  /** What it is about, such as the rule or the input; made safe to show. */
  source: readonly (readonly [name: string, value: string])[]
  data: readonly (readonly [name: string, value: string])[]
  /** How a property has become what it is; undefined: it is no property, and happened once. */
  operation: 'Initialized' | 'Changed' | 'Deleted' | undefined
  /** When, by the clock of the camera: tells notices apart that are the same else. */
  stamp: string
}

/** Most notices in one answer. */
export const MOST_NOTICES = 32

/** @param holdMs how long the camera waits for something to say */
export function pullMessages({ named }: PullPoint, holdMs: number): OnvifOperation<CameraNotice[]> {
  const timeout = `<Timeout>PT${Math.ceil(holdMs / 1000)}S</Timeout><MessageLimit>${MOST_NOTICES}</MessageLimit>`
  return {
    addressing: action(`${EVENTS}/PullPointSubscription/PullMessagesRequest`) + named,
    body: `<PullMessages xmlns="${EVENTS}">${timeout}</PullMessages>`,
    answer: 'PullMessagesResponse',
    holdMs,
    read: (answer) => childrenOf(answer, 'NotificationMessage').slice(0, MOST_NOTICES).flatMap(noticeOf),
  }
}

/** @returns how long it lasts from now on; undefined where the camera does not say */
export function renewPullPoint({ named }: PullPoint, lifeS: number): OnvifOperation<number | undefined> {
  return {
    addressing: action(`${MANAGER}/RenewRequest`) + named,
    body: `<Renew xmlns="${NOTIFICATION}"><TerminationTime>PT${lifeS}S</TerminationTime></Renew>`,
    answer: 'RenewResponse',
    read: lifeOf,
  }
}

export function unsubscribe({ named }: PullPoint): OnvifOperation<undefined> {
  return {
    addressing: action(`${MANAGER}/UnsubscribeRequest`) + named,
    body: `<Unsubscribe xmlns="${NOTIFICATION}"/>`,
    answer: 'UnsubscribeResponse',
    read: () => undefined,
  }
}

/** Some cameras tell operations of one address apart by it alone. */
function action(name: string): string {
  return `<Action xmlns="${ADDRESSING}">${name}</Action>`
}

const LONGEST_TOPIC = 160
const LONGEST_WORD = 64
const MOST_ITEMS = 8
const OPERATIONS: readonly string[] = ['Initialized', 'Changed', 'Deleted']

/** None of one without a topic. */
function noticeOf(notification: XmlElement): CameraNotice[] {
  const topic = plainText((textAt(notification, 'Topic') ?? '').replace(/(^|\/)[\w.-]*:/g, '$1'), LONGEST_TOPIC)
  const message = elementAt(notification, 'Message', 'Message')
  if (topic === '' || !message) return []
  const said = message.attributes.get('PropertyOperation') ?? ''
  const operation = OPERATIONS.includes(said) ? (said as CameraNotice['operation']) : undefined
  const stamp = plainText(message.attributes.get('UtcTime') ?? '', LONGEST_WORD)
  return [{ topic, source: itemsOf(message, 'Source'), data: itemsOf(message, 'Data'), operation, stamp }]
}

function itemsOf(message: XmlElement, part: string): [string, string][] {
  return childrenOf(elementAt(message, part), 'SimpleItem')
    .slice(0, MOST_ITEMS)
    .map(({ attributes }) => [
      plainText(attributes.get('Name') ?? '', LONGEST_WORD),
      plainText(attributes.get('Value') ?? '', LONGEST_WORD),
    ])
}
