/** Tests of wire/streams/sdp.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { anyText } from '#kit/test/any-text.ts'
import { cpuMsOf } from '#kit/test/cpu-time.ts'
import { playFault } from '../../../wire/streams/description.ts'
import { readSdp } from '../../../wire/streams/sdp.ts'
import { am824, dante, lawo, merging, qsys, ravenna } from './wild-sdp.ts'

t.test('a stream of Dante is read with its offset and its clock', async (t) => {
  t.same(readSdp(dante), {
    sessionId: '1423986',
    version: '1423994',
    origin: '10.1.5.20',
    name: 'STAGE-BOX-04 : 2',
    info: '',
    paths: [{ group: '239.65.20.154', port: 5004, ttl: 32, source: null }],
    payloadType: 97,
    encoding: 'L24',
    channels: 4,
    sampleRate: 48_000,
    packetMs: 1,
    refClock: { kind: 'ptp', grandmaster: '00-1D-C1-FF-FE-A0-B1-C2', domain: 0 },
    mediaOffset: 3_560_866_135,
  })
})

t.test(
  'a stream of RAVENNA has its clock with the session, its packet time in frames, its source in a filter',
  async (t) => {
    t.match(readSdp(ravenna), {
      paths: [{ group: '239.1.6.31', port: 5004, ttl: 15, source: '10.1.6.31' }],
      encoding: 'L16',
      channels: 8,
      packetMs: 1,
      refClock: { kind: 'ptp', grandmaster: '00-0B-72-FF-FE-07-D6-E4', domain: 0 },
      mediaOffset: 0,
    })
  },
)

t.test('a stream of Q-SYS leaves out the domain, which is then 0', async (t) => {
  t.match(readSdp(qsys), {
    paths: [{ port: 6518 }],
    refClock: { kind: 'ptp', grandmaster: '00-60-74-FF-FE-F1-02-03', domain: 0 },
    mediaOffset: 1_234_567_890,
  })
})

t.test(
  'RFC 7104 a stream of Lawo comes on two paths, 6 frames a packet, by a grandmaster and not by "traceable"',
  async (t) => {
    t.match(readSdp(lawo), {
      sessionId: '9120',
      version: '4',
      paths: [
        { group: '239.10.4.2', source: '172.16.4.2' },
        { group: '239.11.4.2', source: '172.17.4.2' },
      ],
      packetMs: 0.125,
      refClock: { kind: 'ptp', grandmaster: 'EC-46-70-FF-FE-0A-0B-0C', domain: 127 },
    })
  },
)

t.test('a stream of Merging: the playable format is taken, media over IPv6 are skipped', async (t) => {
  t.match(readSdp(merging), {
    name: 'Horus_80174_MicLine 1-8 (éà)',
    paths: [{ group: '239.63.2.1', port: 5004 }],
    payloadType: 98,
    encoding: 'L24',
    channels: 2,
    packetMs: 16 / 48,
    refClock: { domain: 1 },
  })
})

t.test('an unplayable stream is described, and says why', async (t) => {
  const stream = readSdp(am824)
  t.equal(stream.encoding, 'AM824')
  t.match(playFault(stream), /AM824/)
})

t.test('of several media the first playable one is taken', async (t) => {
  const both = `${am824}m=audio 5010 RTP/AVP 98\r\na=rtpmap:98 L16/48000/1\r\n`
  t.match(readSdp(both), { encoding: 'L16', channels: 1, paths: [{ port: 5010 }] })
})

t.test('media without a name are not mistaken for one another', async (t) => {
  const second = ['m=audio 5010 RTP/AVP 97', 'a=rtpmap:97 L24/48000/4', ''].join('\r\n')
  t.equal(readSdp(dante.replace('t=0 0', 't=0 0\r\na=group:DUP a b') + second).paths.length, 1)
})

t.test('RFC 4570 3 several sources, or excluded ones, name no sender; a star stands for every group', async (t) => {
  const withFilter = (filter: string) => readSdp(dante.replace('a=keywds:Dante', `a=source-filter: ${filter}`))
  const [source] = ['10.0.0.1']
  t.equal(withFilter(`incl IN IP4 * ${source}`).paths[0]?.source, source)
  t.equal(withFilter(`incl IN * 239.65.20.154 ${source}`).paths[0]?.source, source)
  t.equal(withFilter(`incl IN IP4 239.65.20.154 ${source} 10.0.0.2`).paths[0]?.source, null)
  t.equal(withFilter(`excl IN IP4 239.65.20.154 ${source}`).paths[0]?.source, null)
  t.equal(withFilter(`incl IN IP4 239.1.1.1 ${source}`).paths[0]?.source, null)
  t.equal(withFilter('incl IN IP4 239.65.20.154 224.0.0.1').paths[0]?.source, null)
})

t.test('RFC 7273 5.3 a media clock that is not direct, or has no number, is ignored', async (t) => {
  const withClock = (clock: string) => readSdp(dante.replace('direct=3560866135', clock)).mediaOffset
  t.equal(withClock('direct=5 rate=48000/1'), 5)
  t.equal(withClock('sender'), null)
  t.equal(withClock('direct=-5'), null)
  t.equal(withClock('direct=4294967296'), null)
  t.equal(readSdp(dante.replace('a=mediaclk:direct=3560866135', 'a=sync-time:77')).mediaOffset, 77)
  t.equal(readSdp(dante.replace('a=mediaclk:direct=3560866135', 'a=x')).mediaOffset, null)
})

t.test('an origin that is a name or IPv6 counts as none', async (t) => {
  t.equal(readSdp(dante.replace('IP4 10.1.5.20', 'IP4 stage.local')).origin, '')
  t.equal(readSdp(dante.replace('IP4 10.1.5.20', 'IP6 fe80::1')).origin, '')
})

t.test('a text without a session or a stream is refused with its reason', async (t) => {
  const rows: [string, string][] = [
    ['', 'sdp_malformed'],
    ['HTTP/1.1 200 OK', 'sdp_malformed'],
    ['v=0\r\ns=x', 'sdp_malformed'],
    [dante.replace('1423986', 'x'), 'sdp_malformed'],
    [dante + 'a=x\r\n'.repeat(600), 'sdp_malformed'],
    [dante + 'x'.repeat(9000), 'sdp_malformed'],
    [dante.slice(0, dante.indexOf('m=')), 'sdp_no_stream'],
    [dante.replace('m=audio', 'm=video'), 'sdp_no_stream'],
    [dante.replace('5004', '0'), 'sdp_no_stream'],
    [dante.replace('5004', '65536'), 'sdp_no_stream'],
    [dante.replace('IN IP4 239', 'IN IP6 239'), 'sdp_no_stream'],
    [dante.replace('239.65.20.154', '239.65.20.254.1'), 'sdp_no_stream'],
    [dante.replace('rtpmap:97', 'rtpmap:98'), 'sdp_no_stream'],
    [dante.replace('/48000/', '/0/'), 'sdp_no_stream'],
  ]
  for (const [text, code] of rows) t.throws(() => readSdp(text), { code }, text.slice(0, 60))
})

t.test('texts are cleaned of control characters', async (t) => {
  t.equal(readSdp(dante.replace('STAGE', 'S\x1b[31m\u202eT')).name, 'S [31mT-BOX-04 : 2')
  t.equal([...readSdp(dante.replace('STAGE', 'S'.repeat(500))).name].length, 120)
})

/** Gives a description, or throws a Fault; anything else fails the test. */
function isSettled(text: string): boolean {
  try {
    const stream = readSdp(text)
    return stream.paths.length >= 1 && stream.paths.length <= 8 && stream.packetMs > 0
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}

t.test('every truncation of a real description is read or refused', async (t) => {
  const beginnings = [dante, ravenna, qsys, lawo, merging].flatMap((text) =>
    Array.from(text, (_, length) => text.slice(0, length)),
  )
  t.same(
    beginnings.filter((text) => !isSettled(text)),
    [],
  )
})

t.test('whatever arrives is read or refused', async () => {
  fc.assert(fc.property(anyText({ maxLength: 400 }), isSettled))
  const line = fc.constantFrom(...[dante, lawo, merging].flatMap((text) => text.split('\r\n')))
  const mutated = fc.tuple(line, fc.string({ maxLength: 20 }), fc.nat(80)).map(([text, more, at]) => {
    return text.slice(0, at) + more + text.slice(at)
  })
  const lines = fc.array(fc.oneof(line, mutated), { maxLength: 40 })
  fc.assert(fc.property(lines, (all) => isSettled(`v=0\r\n${all.join('\r\n')}`)))
})

t.test('the longest hostile lines are read quickly', async (t) => {
  const hostile = [
    'o=',
    'c=IN IP4 ',
    'm=audio 1 RTP/AVP',
    'a=rtpmap:97 ',
    'a=source-filter: incl IN IP4 ',
    'a=group:DUP',
  ].flatMap((line) =>
    [' 1', ' ', '1', '.', '- ', ' IN IP4 1'].map((filling) => line + filling.repeat(7000 / filling.length)),
  )
  const ms = cpuMsOf(() => {
    for (const long of hostile) {
      isSettled(`v=0\r\n${long}\r\n${long}x`)
      isSettled(dante.replace('a=keywds:Dante', long))
    }
  })
  t.ok(ms < 5000, `${ms} ms`)
})

t.test(
  'of thousands of formats, each with hundreds of lines to search, only the first sixteen are looked up',
  async (t) => {
    const offer = (count: number) => {
      const formats = Array.from({ length: count }, (_, at) => 97 + at).join(' ')
      const lines = [`m=audio 5004 RTP/AVP ${formats}`, `a=rtpmap:${96 + count} L24/48000/2`]
      return `v=0\r\no=- 1 1 IN IP4 10.20.4.12\r\ns=x\r\nc=IN IP4 239.69.10.4/32\r\n${lines.join('\r\n')}\r\n`
    }
    t.match(readSdp(offer(16)), { payloadType: 112 })
    t.throws(() => readSdp(offer(17)), { code: 'sdp_no_stream' })
  },
)

t.test(
  'hundreds of media, each to be compared with hundreds of lines of the session, cost no more than a few',
  async (t) => {
    const hostile = (line: string) => {
      const head = `v=0\r\no=- 1 1 IN IP4 10.20.4.12\r\ns=x\r\nc=IN IP4 239.69.10.4/32\r\n`
      const media = 'm=audio 1 RTP/AVP 10\r\n'.repeat(180)
      return head + line.repeat(Math.floor((8190 - head.length - media.length) / line.length)) + media
    }
    const texts = ['a=ts-refclk:x\r\n', 'a=source-filter: incl IN IP4 * 1 2\r\n', 'a=group:DUP x\r\n'].map(hostile)
    for (const text of texts) t.match(readSdp(text), { encoding: 'L16', channels: 2 })
    const ms = cpuMsOf(() => {
      for (let round = 0; round < 100; round++) for (const text of texts) readSdp(text)
    })
    const eachMs = ms / 300
    t.ok(eachMs < 2.5, `${eachMs.toFixed(2)} ms each`)
  },
)
