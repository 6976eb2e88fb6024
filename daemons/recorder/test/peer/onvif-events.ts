/** The events of a played camera: pull points, which it loses when it is told to, and what it says through them. */
import { envelope, faultText } from './onvif-text.ts'

/** Something that it says. */
export interface PeerNotice {
  topic: string
  source?: Readonly<Record<string, string>>
  data: Readonly<Record<string, string>>
  operation?: string
  /** As it says when it was. */
  stamp?: string
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
  /** How it misbehaves. */
  traits: {
    /** Whether it knows Renew; else what it answers: that it does not know it, or a fault that says nothing. */
    renew: 'known' | 'unknown' | 'plain fault'
    /** Further ones are refused. */
    mostPoints: number
    /** Whether pull points can be given back. */
    knowsUnsubscribe: boolean
    /** How long a pull point lives unless it is renewed. */
    lifeMs: number
  }
  /** @returns undefined for what is no operation of events */
  answer(name: string, text: string, address: string): Promise<string> | undefined
}

interface Point {
  /** Monotonic. */
  endsMs: number
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
  const traits: PeerEvents['traits'] = { renew: 'known', mostPoints: 8, knowsUnsubscribe: true, lifeMs: 60_000 }
  const isNew = createNames()
  let last = 0
  let said = 0

  /** Points have one address: a header tells them apart. */
  function pointOf(text: string): Point | undefined {
    for (const [id, { endsMs }] of points) if (performance.now() >= endsMs) points.delete(id)
    return points.get(/<Subscription xmlns="urn:peer"[^>]*>(\d+)</.exec(text)?.[1] ?? '')
  }
  return {
    standing,
    traits,
    say(notice) {
      const stamped = { ...notice, stamp: `1999-01-01T00:00:00.${String(++said).padStart(6, '0')}Z` }
      for (const point of points.values()) {
        point.waiting.push(stamped)
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
        if (points.size >= traits.mostPoints)
          return Promise.resolve(faultText('ter:ActionFailed', 'Maximum number of subscriptions reached'))
        const id = String(++last)
        points.set(id, { endsMs: performance.now() + traits.lifeMs, waiting: [...standing], wake: undefined })
        const named = `<a:ReferenceParameters><p:Subscription xmlns:p="urn:peer">${id}</p:Subscription></a:ReferenceParameters>`
        const reference = `<e:SubscriptionReference><a:Address xmlns:a="urn:a">${address}</a:Address>${named}</e:SubscriptionReference>`
        return Promise.resolve(
          envelope(
            `<e:CreatePullPointSubscriptionResponse xmlns:e="urn:e" xmlns:a="urn:a">${reference}${lifeText('e', traits.lifeMs)}</e:CreatePullPointSubscriptionResponse>`,
          ),
        )
      }
      if (name === 'PullMessages')
        return point
          ? pull(point, text, { isThere: () => [...points.values()].includes(point), lifeMs: traits.lifeMs })
          : Promise.resolve(lost())
      if (name === 'Renew') return Promise.resolve(renewed(point, traits))
      if (name !== 'Unsubscribe') return undefined
      if (!traits.knowsUnsubscribe) return Promise.resolve(faultText('ter:ActionNotSupported', 'Not supported'))
      for (const [id, one] of points) if (one === point) points.delete(id)
      return Promise.resolve(envelope('<w:UnsubscribeResponse xmlns:w="urn:w"/>'))
    },
  }
}

function lifeText(prefix: string, lifeMs: number): string {
  const at = (ms: number) => new Date(YEAR_2004 + ms).toISOString().replace('.000', '')
  return `<${prefix}:CurrentTime>${at(0)}</${prefix}:CurrentTime><${prefix}:TerminationTime>${at(lifeMs)}</${prefix}:TerminationTime>`
}

/** @param isThere whether it still is, at the end */
async function pull(
  point: Point,
  text: string,
  { isThere, lifeMs }: { isThere(): boolean; lifeMs: number },
): Promise<string> {
  const seconds = Number(/<Timeout>PT(\d+)S</.exec(text)?.[1] ?? 0)
  if (point.waiting.length === 0)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(LONGEST_MS, seconds * 1000)).unref()
      point.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  if (!isThere()) return lost()
  const notices = point.waiting.splice(0, 32).map(noticeText).join('')
  return envelope(`<e:PullMessagesResponse xmlns:e="urn:e">${lifeText('e', lifeMs)}${notices}</e:PullMessagesResponse>`)
}

function renewed(point: Point | undefined, { lifeMs, renew }: PeerEvents['traits']): string {
  if (renew === 'unknown') return faultText('ter:ActionNotSupported', 'Action not supported')
  if (renew === 'plain fault') return faultText('ter:Failed', 'Error')
  if (!point) return lost()
  point.endsMs = performance.now() + lifeMs
  return envelope(`<w:RenewResponse xmlns:w="urn:w">${lifeText('w', lifeMs)}</w:RenewResponse>`)
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

function noticeText({ data, operation, source = {}, stamp = '1999-01-01T00:00:00Z', topic }: PeerNotice): string {
  const items = (all: Readonly<Record<string, string>>) =>
    Object.entries(all)
      .map(([name, value]) => `<t:SimpleItem Name="${name}" Value="${value}"/>`)
      .join('')
  const how = operation === undefined ? '' : ` PropertyOperation="${operation}"`
  const message = `<t:Message UtcTime="${stamp}"${how}><t:Source>${items(source)}</t:Source><t:Data>${items(data)}</t:Data></t:Message>`
  return `<n:NotificationMessage xmlns:n="urn:n"><n:Topic Dialect="urn:d">${topic}</n:Topic><n:Message>${message}</n:Message></n:NotificationMessage>`
}
