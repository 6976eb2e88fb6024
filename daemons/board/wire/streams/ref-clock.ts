/** The clock a stream's timestamps are counted on, as an SDP names it. */

/**
 * The clock of a sender that is a board: a PTP grandmaster, or the machine's own, named by a network card.
 * @source RFC 7273, 4.2 and 4.3
 */
export type OwnRefClock =
  | {
      kind: 'ptp'
      /** Clock identity, upper case: `00-1D-C1-FF-FE-12-34-56`. */
      grandmaster: string
      /** 0..127 */
      domain: number
    }
  | {
      kind: 'localmac'
      /** Upper case: `00-1D-C1-12-34-56`. */
      mac: string
    }

/** The clock of any sender. `other` is one that a board cannot compare its own with: traceable, GPS, NTP, private. */
export type RefClock = OwnRefClock | { kind: 'other'; text: string }

const PTP = /^ptp=ieee1588-(?:2008|2019):([0-9a-f]{2}(?:[-:]?[0-9a-f]{2}){7})(?::(?:domain-nmbr=)?(\d{1,3}))?$/i
const LOCAL_MAC = /^localmac=([0-9a-f]{2}(?:[-:][0-9a-f]{2}){5})$/i
const LONGEST_OTHER = 128

/**
 * What stands behind `a=ts-refclk:`.
 * @source RFC 7273, 4.8; AES67-2018, 8.2
 */
export function refClockText(clock: RefClock): string {
  if (clock.kind === 'ptp') return `ptp=IEEE1588-2008:${clock.grandmaster}:${clock.domain}`
  return clock.kind === 'localmac' ? `localmac=${clock.mac}` : clock.text
}

/**
 * Reads what stands behind `a=ts-refclk:`. Senders leave the domain out where it is 0, write it bare or as
 * `domain-nmbr=`, and identities in either case, some with colons or bare.
 * @returns `other` for whatever is not a PTP grandmaster by its identity, nor a card
 * @source RFC 7273, 4.8
 */
export function readRefClock(text: string): RefClock {
  const [, identity, domain = '0'] = PTP.exec(text) ?? []
  if (identity !== undefined && Number(domain) <= 127)
    return { kind: 'ptp', grandmaster: withDashes(identity), domain: Number(domain) }
  const mac = LOCAL_MAC.exec(text)?.[1]
  if (mac !== undefined) return { kind: 'localmac', mac: withDashes(mac) }
  return { kind: 'other', text: text.slice(0, LONGEST_OTHER) }
}

/** Whether two streams, or a stream and a board, count on one clock. Of an `other` nobody can say. */
export function isSameClock(one: RefClock, other: RefClock): boolean {
  if (one.kind === 'ptp' && other.kind === 'ptp')
    return one.grandmaster === other.grandmaster && one.domain === other.domain
  return one.kind === 'localmac' && other.kind === 'localmac' && one.mac === other.mac
}

function withDashes(digits: string): string {
  return (digits.toUpperCase().match(/[0-9A-F]{2}/g) ?? []).join('-')
}
