import t from 'tap'
import { getNtp, getSystemDateAndTime, setNtp, setSystemDateAndTime } from '../../wire/onvif-clock.ts'
import { readXml, textAt } from '../../wire/xml.ts'

const time = '<Time><Hour>7</Hour><Minute>5</Minute><Second>9</Second></Time>'
const read = (text: string) =>
  getSystemDateAndTime.read(readXml(`<a><SystemDateAndTime>${text}</SystemDateAndTime></a>`))

t.test('reads the clock of a camera, and nothing that it does not say', async (t) => {
  const date = '<Date><Year>2024</Year><Month>2</Month><Day>29</Day></Date>'
  const utc = `<UTCDateTime>${time}${date}</UTCDateTime>`
  const local = `<LocalDateTime>${time.replace('7', '8')}${date}</LocalDateTime>`
  const zone = '<DateTimeType>NTP</DateTimeType><TimeZone><TZ>CET-1CEST,M3.5.0,M10.5.0/3</TZ></TimeZone>'
  t.same(read(zone + utc + local), {
    ...{ utcMs: Date.UTC(2024, 1, 29, 7, 5, 9), localMs: Date.UTC(2024, 1, 29, 8, 5, 9) },
    ...{ dateTimeType: 'NTP', timeZone: 'CET-1CEST,M3.5.0,M10.5.0/3' },
  })
  t.same(read(''), { utcMs: undefined, localMs: undefined, dateTimeType: 'Manual', timeZone: undefined })
  const at = (year: string) => read(utc.replace('2024', year)).utcMs
  t.equal(at('99999'), undefined)
  t.equal(new Date(at('70') ?? 0).getUTCFullYear(), 70)
})

t.test('sets a time in UTC with its zone, and none where a server gives it', async (t) => {
  const wish = { hasSummerTime: true, timeZone: '<+03>-3', utcMs: Date.UTC(2026, 0, 2, 3, 4, 5) }
  const root = readXml(setSystemDateAndTime({ ...wish, dateTimeType: 'Manual' }).body)
  t.equal(textAt(root, 'TimeZone', 'TZ'), '<+03>-3')
  t.equal(textAt(root, 'DaylightSavings'), 'true')
  t.same(
    ['Year', 'Month', 'Day'].map((name) => textAt(root, 'UTCDateTime', 'Date', name)),
    ['2026', '1', '2'],
  )
  t.same(
    ['Hour', 'Minute', 'Second'].map((name) => textAt(root, 'UTCDateTime', 'Time', name)),
    ['3', '4', '5'],
  )
  t.equal(textAt(readXml(setSystemDateAndTime({ ...wish, dateTimeType: 'NTP' }).body), 'UTCDateTime'), undefined)
})

t.test('reads which servers of time a camera asks, in order and made safe to show', async (t) => {
  const read = (text: string) => getNtp.read(readXml(`<a><NTPInformation>${text}</NTPInformation></a>`))
  const host = (inner: string) => `<NTPManual><Type>x</Type>${inner}</NTPManual>`
  const v6 = host('<IPv6Address>FD00:0:0:0:0:0:0:7</IPv6Address>')
  t.same(
    read(
      `<FromDHCP>false</FromDHCP>${host('<IPv4Address>192.0.2.1</IPv4Address>')}${v6}${host('<DNSname>pool</DNSname>')}`,
    ),
    {
      ...{ isFromDhcp: false, byHand: ['192.0.2.1', 'fd00::7', 'pool'] },
    },
  )
  t.same(read('<FromDHCP>true</FromDHCP>'), { isFromDhcp: true, byHand: [] })
  t.same(read(''), { isFromDhcp: false, byHand: [] })
  t.equal(read(host('<DNSname>x</DNSname>').repeat(500)).byHand.length, 8)
  t.same(read(host(`<DNSname>a\u202eb</DNSname>`) + host('<IPv6Address>no</IPv6Address>')).byHand, ['ab', 'no'])
})

t.test('has a camera ask one server, of either family', async (t) => {
  const root = readXml(setNtp('192.0.2.1').body)
  t.same([textAt(root, 'FromDHCP'), textAt(root, 'NTPManual', 'Type')], ['false', 'IPv4'])
  t.equal(textAt(root, 'NTPManual', 'IPv4Address'), '192.0.2.1')
  t.equal(textAt(readXml(setNtp('fd00::1').body), 'NTPManual', 'IPv6Address'), 'fd00::1')
})
