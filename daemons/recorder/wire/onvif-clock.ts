/**
 * Operations of ONVIF on a camera's clock.
 * @source ONVIF Core Specification 8.3.7 to 8.3.10 (GetSystemDateAndTime, SetSystemDateAndTime), 8.2.4, 8.2.5 (GetNTP, SetNTP)
 */
import { plainText } from '#kit/pure/text.ts'
import type { OnvifOperation } from './onvif.ts'
import { childrenOf, elementAt, escapeXml, numberAt, textAt, type XmlElement } from './xml.ts'

const DEVICE = 'http://www.onvif.org/ver10/device/wsdl'
const SCHEMA = 'http://www.onvif.org/ver10/schema'

/** What a camera says of its clock. */
export interface ClockReading {
  /** Epoch ms; undefined where it says none. */
  utcMs: number | undefined
  /** The same instant in its own zone, as if it were UTC; undefined where it says none. */
  localMs: number | undefined
  /** Whether it takes its time from a server. */
  dateTimeType: 'NTP' | 'Manual'
  /** POSIX string, as it says it; undefined where it says none. */
  timeZone: string | undefined
}

const LONGEST_ZONE = 128

/** Answered to anyone. */
export const getSystemDateAndTime: OnvifOperation<ClockReading> = {
  body: `<GetSystemDateAndTime xmlns="${DEVICE}"/>`,
  answer: 'GetSystemDateAndTimeResponse',
  read(answer) {
    const said = elementAt(answer, 'SystemDateAndTime')
    const timeZone = textAt(said, 'TimeZone', 'TZ')
    return {
      utcMs: instantAt(elementAt(said, 'UTCDateTime')),
      localMs: instantAt(elementAt(said, 'LocalDateTime')),
      dateTimeType: textAt(said, 'DateTimeType') === 'NTP' ? 'NTP' : 'Manual',
      timeZone: timeZone !== undefined && timeZone.length <= LONGEST_ZONE ? timeZone : undefined,
    }
  },
}

function instantAt(element: XmlElement | undefined): number | undefined {
  const at = (...path: string[]) => numberAt(element, ...path)
  const [year, month, day] = [at('Date', 'Year'), at('Date', 'Month'), at('Date', 'Day')]
  if (year === undefined || month === undefined || day === undefined || year > 9999) return undefined
  const instant = new Date(0)
  // Date.UTC takes a year below 100 for one of the last century.
  instant.setUTCFullYear(year, month - 1, day)
  return instant.setUTCHours(at('Time', 'Hour') ?? 0, at('Time', 'Minute') ?? 0, at('Time', 'Second') ?? 0)
}

/** A clock to set. */
export interface ClockWish {
  /** `NTP` leaves the time to its server, and takes none. */
  dateTimeType: 'NTP' | 'Manual'
  /** Whether the zone has a summer time, which it then follows. */
  hasSummerTime: boolean
  /** POSIX string. */
  timeZone: string
  utcMs: number
}

export function setSystemDateAndTime({
  dateTimeType,
  hasSummerTime,
  timeZone,
  utcMs,
}: ClockWish): OnvifOperation<undefined> {
  const at = new Date(utcMs)
  const of = (name: string, value: number) => `<${name} xmlns="${SCHEMA}">${value}</${name}>`
  const time = of('Hour', at.getUTCHours()) + of('Minute', at.getUTCMinutes()) + of('Second', at.getUTCSeconds())
  const date = of('Year', at.getUTCFullYear()) + of('Month', at.getUTCMonth() + 1) + of('Day', at.getUTCDate())
  const instant = `<Time xmlns="${SCHEMA}">${time}</Time><Date xmlns="${SCHEMA}">${date}</Date>`
  return {
    body:
      `<SetSystemDateAndTime xmlns="${DEVICE}"><DateTimeType>${dateTimeType}</DateTimeType>` +
      `<DaylightSavings>${hasSummerTime}</DaylightSavings>` +
      `<TimeZone><TZ xmlns="${SCHEMA}">${escapeXml(timeZone)}</TZ></TimeZone>` +
      `${dateTimeType === 'Manual' ? `<UTCDateTime>${instant}</UTCDateTime>` : ''}</SetSystemDateAndTime>`,
    answer: 'SetSystemDateAndTimeResponse',
    read: () => undefined,
  }
}

/** Which servers of time a camera asks. */
export interface NtpServers {
  /** Whether DHCP names them. */
  isFromDhcp: boolean
  /** Those that were set by hand, in order: addresses and names as it says them, made safe to show. */
  byHand: string[]
}

const MOST_SERVERS = 8
/** As long as a name of DNS may be. */
const LONGEST_SERVER = 253

export const getNtp: OnvifOperation<NtpServers> = {
  body: `<GetNTP xmlns="${DEVICE}"/>`,
  answer: 'GetNTPResponse',
  read(answer) {
    const said = elementAt(answer, 'NTPInformation')
    const byHand = childrenOf(said, 'NTPManual')
      .slice(0, MOST_SERVERS)
      .map(
        (host) => textAt(host, 'IPv4Address') ?? shortV6(textAt(host, 'IPv6Address')) ?? textAt(host, 'DNSname') ?? '',
      )
    return {
      isFromDhcp: textAt(said, 'FromDHCP')?.trim() === 'true',
      byHand: byHand.map((text) => plainText(text, LONGEST_SERVER)).filter((text) => text !== ''),
    }
  },
}

/** The one way to write it: cameras write all the zeros. */
function shortV6(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (URL.parse(`http://[${text.trim()}]`)?.hostname.slice(1, -1) ?? text)
}

/** Has a camera ask one server, and no other. @param address IPv4, or IPv6 without a zone */
export function setNtp(address: string): OnvifOperation<undefined> {
  const kind = address.includes(':') ? 'IPv6' : 'IPv4'
  const host = `<Type xmlns="${SCHEMA}">${kind}</Type><${kind}Address xmlns="${SCHEMA}">${escapeXml(address)}</${kind}Address>`
  return {
    body: `<SetNTP xmlns="${DEVICE}"><FromDHCP>false</FromDHCP><NTPManual>${host}</NTPManual></SetNTP>`,
    answer: 'SetNTPResponse',
    read: () => undefined,
  }
}
