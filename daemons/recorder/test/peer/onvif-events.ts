/** The events of a played camera: pull points, which it loses when it is told to, and what it says through them. */
import { envelope, faultText } from './onvif-text.ts'

/** Something that it says. */
export interface PeerNotice {
  topic: string
  source?: Readonly<Record<string, string>>
  data: Readonly<Record<string, string>>
  operation?: string
}

export interface PeerEvents {
  /** How everything stands when somebody subscribes. */
  standing: PeerNotice[]
  /** Says something to everybody who listens. */
  say(notice: PeerNotice): void
  /** Forgets every pull point, as after a restart. */
  lose(): void
  /** Subscriptions that it knows. */
  points(): number
  /** @returns undefined for what is no operation of events */
  answer(name: string, text: string, address: string): Promise<string> | undefined
}

interface Point {
  waiting: PeerNotice[]
  wake: (() => void) | undefined
}

/** Its clock, which nobody should believe. */
const YEAR_2004 = Date.UTC(2004, 0, 1)
const LONGEST_MS = 30_000
const OPERATIONS: ReadonlySet<string> = new Set(['CreatePullPointSubscription', 'PullMessages', 'Renew', 'Unsubscribe'])

export function createPeerEvents(): PeerEvents {
  const points = new Map<string, Point>()
  const standing: PeerNotice[] = []
  const isNew = createNames()
  let last = 0

  /** Points have one address: a header tells them apart. */
  const pointOf = (text: string) => points.get(/<Subscription xmlns="urn:peer"[^>]*>(\d+)</.exec(text)?.[1] ?? '')
  const lifeText = (prefix: string) => {
    const at = (ms: number) => new Date(YEAR_2004 + ms).toISOString().replace('.000', '')
    return `<${prefix}:CurrentTime>${at(0)}</${prefix}:CurrentTime><${prefix}:TerminationTime>${at(60_000)}</${prefix}:TerminationTime>`
  }

  async function pull(point: Point, text: string): Promise<string> {
    const seconds = Number(/<Timeout>PT(\d+)S</.exec(text)?.[1] ?? 0)
    if (point.waiting.length === 0)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(LONGEST_MS, seconds * 1000)).unref()
        point.wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    if (![...points.values()].includes(point)) return lost()
    const notices = point.waiting.splice(0, 32).map(noticeText).join('')
    return envelope(`<e:PullMessagesResponse xmlns:e="urn:e">${lifeText('e')}${notices}</e:PullMessagesResponse>`)
  }

  return {
    standing,
    say(notice) {
      for (const point of points.values()) {
        point.waiting.push(notice)
        point.wake?.()
      }
    },
    lose() {
      const all = [...points.values()]
      points.clear()
      for (const { wake } of all) wake?.()
    },
    points: () => points.size,
    answer(name, text, address) {
      if (OPERATIONS.has(name) && !isNew(text)) return Promise.resolve(faultText('ter:ActionFailed', 'Action failed'))
      const point = pointOf(text)
      if (name === 'CreatePullPointSubscription') {
        const id = String(++last)
        points.set(id, { waiting: [...standing], wake: undefined })
        const named = `<a:ReferenceParameters><p:Subscription xmlns:p="urn:peer">${id}</p:Subscription></a:ReferenceParameters>`
        const reference = `<e:SubscriptionReference><a:Address xmlns:a="urn:a">${address}</a:Address>${named}</e:SubscriptionReference>`
        return Promise.resolve(
          envelope(
            `<e:CreatePullPointSubscriptionResponse xmlns:e="urn:e" xmlns:a="urn:a">${reference}${lifeText('e')}</e:CreatePullPointSubscriptionResponse>`,
          ),
        )
      }
      if (name === 'PullMessages') return point ? pull(point, text) : Promise.resolve(lost())
      if (name === 'Renew')
        return Promise.resolve(
          point ? envelope(`<w:RenewResponse xmlns:w="urn:w">${lifeText('w')}</w:RenewResponse>`) : lost(),
        )
      if (name !== 'Unsubscribe') return undefined
      for (const [id, one] of points) if (one === point) points.delete(id)
      return Promise.resolve(envelope('<w:UnsubscribeResponse xmlns:w="urn:w"/>'))
    },
  }
}

/** It takes no request of events that does not name itself, or has the name of another. */
function createNames(): (text: string) => boolean {
  const names = new Set<string>()
  return (text) => {
    const id = /<MessageID xmlns="http:\/\/www.w3.org\/2005\/08\/addressing">(urn:uuid:[\da-f-]{36})</.exec(text)?.[1]
    if (id === undefined || names.has(id)) return false
    names.add(id)
    return true
  }
}

function lost(): string {
  return faultText('wsrf-rw:ResourceUnknownFault', 'The subscription is gone')
}

function noticeText({ data, operation, source = {}, topic }: PeerNotice): string {
  const items = (all: Readonly<Record<string, string>>) =>
    Object.entries(all)
      .map(([name, value]) => `<t:SimpleItem Name="${name}" Value="${value}"/>`)
      .join('')
  const how = operation === undefined ? '' : ` PropertyOperation="${operation}"`
  const message = `<t:Message UtcTime="1999-01-01T00:00:00Z"${how}><t:Source>${items(source)}</t:Source><t:Data>${items(data)}</t:Data></t:Message>`
  return `<n:NotificationMessage xmlns:n="urn:n"><n:Topic Dialect="urn:d">${topic}</n:Topic><n:Message>${message}</n:Message></n:NotificationMessage>`
}
