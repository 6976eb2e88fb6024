/** Tests of wire/streams/sdp.ts: every line by its clause, and read back. */
import fc from 'fast-check'
import t from 'tap'
import { groupFault } from '../../../wire/addresses.ts'
import type { StreamDescription } from '../../../wire/streams/description.ts'
import { readSdp, writeSdp } from '../../../wire/streams/sdp.ts'
import { STREAM as stream } from './described-stream.ts'

const linesOf = (text: string) => text.split('\r\n')

t.test('a complete description is in the order of RFC 4566, 5', async (t) => {
  t.same(linesOf(writeSdp(stream)), [
    'v=0',
    'o=- 3971234567 3971234568 IN IP4 10.0.0.7',
    's=Foyer left',
    't=0 0',
    'a=clock-domain:PTPv2 0',
    'm=audio 5004 RTP/AVP 97',
    'c=IN IP4 239.69.1.7/32',
    'a=rtpmap:97 L24/48000/2',
    'a=recvonly',
    'a=ptime:1',
    'a=framecount:48',
    'a=ts-refclk:ptp=IEEE1588-2008:39-A7-94-FF-FE-07-CB-D0:0',
    'a=mediaclk:direct=0',
    'a=sync-time:0',
    '',
  ])
})

t.test('RFC 4566 5.1 and 5 the first line is v=0; every line ends with CRLF', async (t) => {
  t.match(writeSdp(stream), /^v=0\r\n/)
  t.match(writeSdp(stream), /\r\n$/)
  t.notMatch(writeSdp(stream), /[^\r]\n/)
})

t.test('RFC 4566 5.3 a stream without a name is called by a single space', async (t) => {
  t.ok(linesOf(writeSdp({ ...stream, name: '' })).includes('s= '))
})

t.test('RFC 4566 5.4 information is a separate line after the name', async (t) => {
  const lines = linesOf(writeSdp({ ...stream, info: 'Sent by board-1' }))
  t.equal(lines.indexOf('i=Sent by board-1'), lines.indexOf('s=Foyer left') + 1)
})

t.test('a name cannot add lines', async (t) => {
  const lines = linesOf(writeSdp({ ...stream, name: 'x\r\nm=audio 1 RTP/AVP 0\0', info: 'y\nz' }))
  t.equal(lines.filter((line) => line.startsWith('m=')).length, 1)
  t.ok(lines.includes('s=x m=audio 1 RTP/AVP 0'))
  t.ok(lines.includes('i=y z'))
})

t.test('RFC 4566 5.7 a group has its TTL, one receiver alone has none', async (t) => {
  const path = { group: '10.0.0.9', port: 5004, ttl: 32, source: null }
  t.ok(linesOf(writeSdp({ ...stream, paths: [path] })).includes('c=IN IP4 10.0.0.9'))
})

t.test('AES67 8.1 packet times are exact', async (t) => {
  for (const [packetMs, ptime, frames] of [
    [0.125, '0.125', 6],
    [0.25, '0.25', 12],
    [1, '1', 48],
    [4, '4', 192],
    [1 / 3, '0.333333', 16],
  ] as const) {
    const lines = linesOf(writeSdp({ ...stream, packetMs }))
    t.ok(lines.includes(`a=ptime:${ptime}`))
    t.ok(lines.includes(`a=framecount:${frames}`))
  }
})

t.test('AES67 8.2 without PTP the clock is that of a network card', async (t) => {
  const lines = linesOf(writeSdp({ ...stream, refClock: { kind: 'localmac', mac: '7C-E9-D3-1B-9A-AF' } }))
  t.ok(lines.includes('a=ts-refclk:localmac=7C-E9-D3-1B-9A-AF'))
  t.notOk(lines.some((line) => line.startsWith('a=clock-domain')))
})

t.test('RFC 4570 3 there is a source filter if receivers must name the sender', async (t) => {
  const path = { group: '232.69.1.7', port: 5004, ttl: 32, source: null }
  const filter = 'a=source-filter: incl IN IP4 232.69.1.7 10.0.0.7'
  t.ok(linesOf(writeSdp({ ...stream, paths: [path] })).includes(filter))
  t.ok(linesOf(writeSdp({ ...stream, paths: [{ ...path, source: '10.0.0.7' }] })).includes(filter))
  t.notMatch(writeSdp(stream), /source-filter/)
})

t.test('RFC 7104 4 two paths are two media in one group, each with its own address', async (t) => {
  const [first] = stream.paths
  const paths = [
    { ...first, group: '239.69.1.7' },
    { group: '239.70.1.7', port: 5006, ttl: 16, source: null },
  ]
  const text = writeSdp({ ...stream, paths: paths as StreamDescription['paths'] })
  const lines = linesOf(text)
  t.ok(lines.indexOf('a=group:DUP primary secondary') < lines.indexOf('m=audio 5004 RTP/AVP 97'))
  t.ok(lines.includes('m=audio 5006 RTP/AVP 97'))
  t.ok(lines.includes('c=IN IP4 239.70.1.7/16'))
  t.same(
    lines.filter((line) => line.startsWith('a=mid:')),
    ['a=mid:primary', 'a=mid:secondary'],
  )
})

const ipv4 = (first: number) =>
  fc.tuple(fc.nat(255), fc.nat(255), fc.integer({ min: 1, max: 254 })).map((rest) => [first, ...rest].join('.'))
const path = fc.record({
  // Of several media the first that can be played is read, so all groups here are ones a board listens to.
  group: ipv4(239).filter((group) => groupFault(group) === undefined),
  port: fc.integer({ min: 1, max: 65_535 }),
  ttl: fc.nat(255),
  source: fc.option(ipv4(10)),
})
const digits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)
const described: fc.Arbitrary<StreamDescription> = fc.record({
  sessionId: digits,
  version: digits,
  origin: ipv4(10),
  name: fc.stringMatching(/^[\w(][\w :.()-]{0,60}[\w)]$/).map((name) => name.replace(/ +/g, ' ')),
  info: fc.constantFrom('', 'Stage'),
  paths: fc.uniqueArray(path, { minLength: 1, maxLength: 2 }),
  payloadType: fc.integer({ min: 96, max: 127 }),
  encoding: fc.constantFrom('L16', 'L24'),
  channels: fc.integer({ min: 1, max: 8 }),
  sampleRate: fc.constant(48_000),
  packetMs: fc.integer({ min: 1, max: 60 }).map((frames) => (frames * 1000) / 48_000),
  refClock: fc.oneof(
    fc.constant(null),
    fc.record({
      kind: fc.constant('ptp' as const),
      grandmaster: fc.constant('39-A7-94-FF-FE-07-CB-D0'),
      domain: fc.nat(127),
    }),
    fc.constant({ kind: 'localmac' as const, mac: '7C-E9-D3-1B-9A-AF' }),
  ),
  mediaOffset: fc.option(fc.nat(0xffff_ffff)),
})

t.test('whatever is written is read back as it was', async (t) => {
  fc.assert(fc.property(described, (one) => t.same(readSdp(writeSdp(one)), one)))
})

/** What each line must look like, by the clause that says so. */
const GRAMMAR: readonly (readonly [clause: string, line: RegExp, level: 'session' | 'media', times: '1' | '0-1'])[] = [
  ['RFC 4566 5.1', /^v=0$/, 'session', '1'],
  ['RFC 4566 5.2', /^o=- \d+ \d+ IN IP4 \d+(?:\.\d+){3}$/, 'session', '1'],
  ['RFC 4566 5.3', /^s=.+$/, 'session', '1'],
  ['RFC 4566 5.4', /^i=.+$/, 'session', '0-1'],
  ['RFC 4566 5.9', /^t=0 0$/, 'session', '1'],
  ['RAVENNA 4', /^a=clock-domain:PTPv2 \d+$/, 'session', '0-1'],
  ['RFC 7104 4', /^a=group:DUP primary secondary$/, 'session', '0-1'],
  ['RFC 4566 5.14', /^m=audio \d+ RTP\/AVP (?:9[6-9]|1[01]\d|12[0-7])$/, 'media', '1'],
  ['RFC 4566 5.7', /^c=IN IP4 239(?:\.\d+){3}\/\d+$/, 'media', '1'],
  ['RFC 4570 3', /^a=source-filter: incl IN IP4 239(?:\.\d+){3} 10(?:\.\d+){3}$/, 'media', '0-1'],
  ['AES67 8.3, RFC 4566 6', /^a=rtpmap:\d+ L(?:16|24)\/48000\/[1-8]$/, 'media', '1'],
  ['RFC 4566 6', /^a=recvonly$/, 'media', '1'],
  ['AES67 8.1', /^a=ptime:\d+(?:\.\d{1,6})?$/, 'media', '1'],
  ['RAVENNA 4', /^a=framecount:\d+$/, 'media', '1'],
  [
    'AES67 8.2, RFC 7273 4.8',
    /^a=ts-refclk:(?:ptp=IEEE1588-2008:(?:[\dA-F]{2}-){7}[\dA-F]{2}:\d+|localmac=(?:[\dA-F]{2}-){5}[\dA-F]{2})$/,
    'media',
    '0-1',
  ],
  ['AES67 8.2, RFC 7273 5.3', /^a=mediaclk:direct=\d+$/, 'media', '0-1'],
  ['RAVENNA 4', /^a=sync-time:\d+$/, 'media', '0-1'],
  ['RFC 5888 4', /^a=mid:(?:primary|secondary)$/, 'media', '0-1'],
]

t.test('AES67 8 every line of every description obeys its clause, at its level, as often as is allowed', async (t) => {
  fc.assert(
    fc.property(described, (one) => {
      const [session = '', ...media] = writeSdp(one).split(/(?=^m=)/m)
      t.equal(media.length, one.paths.length)
      for (const [level, text] of [['session', session], ...media.map((medium) => ['media', medium])]) {
        const lines = (text ?? '').split('\r\n').slice(0, -1)
        const rows = GRAMMAR.filter((row) => row[2] === level)
        for (const line of lines) if (!rows.some(([, pattern]) => pattern.test(line))) t.fail(`${level}: ${line}`)
        for (const [clause, pattern, , times] of rows) {
          const count = lines.filter((line) => pattern.test(line)).length
          if (count > 1 || (times === '1' && count === 0)) t.fail(`${clause}: ${count} times`)
        }
      }
    }),
  )
})
