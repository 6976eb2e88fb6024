import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import type { StreamOpener, StreamPlace } from '../../core/ports.ts'
import { createStreamOpener, type SessionLimits } from '../../io/rtsp-session.ts'

const usual: SessionLimits = {
  ...{ answerMs: 20_000, silentMs: 20_000, bytesPerS: 1e6 },
  udp: { firstPort: 61_000, ports: 512, bufferBytes: 65_536 },
}
const SDP = 'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track\r\n'

/** What a camera says to the request of a method; `null` for nothing. */
type Answers = (method: string, cseq: string, socket: Socket) => string | null

const good: Answers = (method, cseq) => {
  const head = `RTSP/1.0 200 OK\r\nCSeq: ${cseq}\r\n`
  if (method === 'DESCRIBE') return `${head}Content-Length: ${SDP.length}\r\n\r\n${SDP}`
  if (method === 'SETUP') return `${head}Session: 7;timeout=2\r\nTransport: RTP/AVP/TCP;interleaved=4-5\r\n\r\n`
  return `${head}\r\n`
}

async function camera(t: Test, answers: Answers) {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const request = text.slice(0, end)
        text = text.slice(end + 4)
        const method = request.split(' ')[0] ?? ''
        asked.push(request)
        const answer = answers(method, /CSeq: (\d+)/.exec(request)?.[1] ?? '', socket)
        if (answer !== null) socket.write(answer, 'latin1')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { asked, place: { url: `rtsp://127.0.0.1:${port}/live`, username: 'u', password: 'p' } }
}

async function played(t: Test, answers: Answers, limits: Partial<SessionLimits> = {}, more = {}) {
  const { asked, place } = await camera(t, answers)
  const opener = createStreamOpener({ clock: systemClock, limits: { ...usual, ...limits }, userAgent: 'test' })
  return { asked, ...begun(opener, { ...place, ...more }) }
}

function begun(opener: StreamOpener, place: StreamPlace) {
  const abort = new AbortController()
  const packets: number[] = []
  const listener = { onOpened() {}, onPacket: (bytes: Uint8Array) => void packets.push(bytes.length), onReport() {} }
  return { abort, over: opener.play(place, listener, abort.signal), packets }
}

const packetOf = (length: number, channel = 4) =>
  `$${String.fromCharCode(channel, length >> 8, length & 0xff)}${'x'.repeat(length)}`

t.test('plays what the camera sends on the channel it chose, and takes leave', async (t) => {
  const session = await played(t, (method, cseq, socket) => {
    if (method === 'PLAY') return `${good(method, cseq, socket)}${packetOf(20)}${packetOf(30, 5)}${packetOf(40)}`
    return good(method, cseq, socket)
  })
  while (session.packets.length < 2) await new Promise((resolve) => setImmediate(resolve))
  t.same(session.packets, [20, 40])
  session.abort.abort()
  t.equal(await session.over, undefined)
  while (session.asked.length < 4) await new Promise((resolve) => setImmediate(resolve))
  t.match(session.asked, [
    /^DESCRIBE/,
    /^SETUP \S+\/live\/track /,
    /^PLAY[\s\S]*Session: 7/,
    /^TEARDOWN[\s\S]*Session: 7/,
  ])
})

t.test('what a camera does wrong ends the session with a fault that says it', async (t) => {
  const refused =
    (status: string, more = ''): Answers =>
    (_, cseq) =>
      `RTSP/1.0 ${status}\r\nCSeq: ${cseq}\r\n${more}\r\n`
  const instead =
    (method: string, answer: string): Answers =>
    (asked, cseq, socket) =>
      asked === method ? answer.replace('CSEQ', cseq) : good(asked, cseq, socket)
  const cases: [string, Answers, Partial<SessionLimits>?][] = [
    ['camera_refused', refused('401 Unauthorized', 'WWW-Authenticate: Digest realm="c", nonce="n"\r\n')],
    ['camera_refused', refused('401 Unauthorized', 'WWW-Authenticate: Digest realm="c", nonce="n", stale=true\r\n')],
    ['camera_refused', refused('403 Forbidden')],
    ['camera_unsupported', refused('404 Not Found')],
    ['camera_unsupported', instead('DESCRIBE', 'RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nContent-Length: 5\r\n\r\nv=0\r\n')],
    [
      'camera_unsupported',
      instead('SETUP', 'RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\nSession: 1\r\nTransport: RTP/AVP;unicast\r\n\r\n'),
    ],
    ['camera_unsupported', instead('PLAY', 'RTSP/1.0 454 Session Not Found\r\nCSeq: CSEQ\r\n\r\n')],
    ['rtsp_broken', instead('DESCRIBE', 'HTTP/1.1 200 OK\r\n\r\n')],
    ['rtsp_broken', instead('DESCRIBE', 'RTSP/1.0 200 OK\r\nContent-Length: 70000\r\n\r\n')],
    ['rtsp_broken', instead('DESCRIBE', 'x'.repeat(20_000))],
    ['camera_unreachable', () => null, { answerMs: 50 }],
    ['camera_silent', good, { silentMs: 50 }],
    [
      'camera_ended',
      (method, cseq, socket) => {
        if (method === 'PLAY') socket.end()
        return method === 'PLAY' ? null : good(method, cseq, socket)
      },
    ],
  ]
  for (const [code, answers, limits] of cases) {
    const { over } = await played(t, answers, limits)
    t.match(await over, { code })
  }
})

t.test('a camera that answers a password with the same question again is asked twice at most', async (t) => {
  const { asked, over } = await played(
    t,
    (_, cseq) => `RTSP/1.0 401 No\r\nCSeq: ${cseq}\r\nWWW-Authenticate: Digest realm="c", nonce="${cseq}"\r\n\r\n`,
  )
  t.match(await over, { code: 'camera_refused' })
  t.equal(asked.length, 2)
  t.notMatch(asked[0], /Authorization/)
  t.match(asked[1], /Authorization: Digest username="u"/)
})

const asks =
  (scheme: 'Basic' | 'Digest'): Answers =>
  (_, cseq) =>
    `RTSP/1.0 401 No\r\nCSeq: ${cseq}\r\nWWW-Authenticate: ${scheme} realm="c", nonce="n"\r\n\r\n`

t.test('a camera that was found on the network is not told the password, whatever it asks for', async (t) => {
  const { asked, over } = await played(t, asks('Basic'), {}, { isHashed: true })
  t.match(await over, { code: 'camera_refused', message: /in clear \(Basic\).*found on the network/ })
  t.equal(asked.length, 1)
  const plain = await played(t, asks('Basic'))
  t.match(await plain.over, { code: 'camera_refused' })
  t.match(plain.asked[1], /Authorization: Basic dTpw/, 'one that was added by its address may know nothing better')
})

t.test('what asks for the password in clear, where it was taken hashed before, does not get it', async (t) => {
  let scheme: 'Basic' | 'Digest' = 'Digest'
  const { asked, place } = await camera(t, (method, cseq, socket) =>
    asked.at(-1)?.includes('Authorization') ? good(method, cseq, socket) : asks(scheme)(method, cseq, socket),
  )
  const opener = createStreamOpener({ clock: systemClock, limits: usual, userAgent: 'test' })
  const session = begun(opener, place)
  while (asked.length < 4) await new Promise((resolve) => setImmediate(resolve))
  session.abort.abort()
  await session.over
  scheme = 'Basic'
  const before = asked.length
  t.match(await begun(opener, place).over, { code: 'camera_refused', message: /took it hashed.*another device/ })
  t.notMatch(asked.slice(before).join(), /Basic/)
  const anew = begun(opener, { ...place })
  while (!asked.at(-1)?.startsWith('PLAY')) await new Promise((resolve) => setImmediate(resolve))
  t.match(asked.at(-1), /Authorization: Basic/, 'a camera that is given a login anew is another')
  anew.abort.abort()
  await anew.over
})

t.test(
  'a session is kept alive although the camera knows no GET_PARAMETER, and its own questions are answered',
  async (t) => {
    const session = await played(t, (method, cseq, socket) => {
      if (method === 'PLAY') return `${good(method, cseq, socket)}OPTIONS * RTSP/1.0\r\nCSeq: 99\r\n\r\n`
      if (method === 'GET_PARAMETER') return `RTSP/1.0 501 Not Implemented\r\nCSeq: ${cseq}\r\n\r\n`
      return method.startsWith('RTSP/') ? null : good(method, cseq, socket)
    })
    while (session.asked.filter((text) => text.startsWith('GET_PARAMETER')).length < 2)
      await new Promise((resolve) => setTimeout(resolve, 20))
    t.ok(session.asked.some((text) => text.startsWith('RTSP/1.0 200 OK\r\nCSeq: 99')))
    session.abort.abort()
    t.equal(await session.over, undefined)
  },
)

t.test('a camera that sends more than it may is read no further until the next second', async (t) => {
  const session = await played(
    t,
    (method, cseq, socket) => {
      if (method !== 'PLAY') return good(method, cseq, socket)
      const flood = Buffer.from(packetOf(60_000).repeat(200), 'latin1')
      socket.write(good(method, cseq, socket) ?? '')
      socket.write(flood)
      return null
    },
    { bytesPerS: 100_000 },
  )
  while (session.packets.length < 1) await new Promise((resolve) => setImmediate(resolve))
  // Until the next second begins, it has read one chunk beyond the bound at most.
  t.ok(session.packets.length <= 4, `${session.packets.length} packets`)
  session.abort.abort()
  t.equal(await session.over, undefined)
})

t.test(
  'packets without anything in them count too: a camera may not keep the recorder busy with nothing',
  async (t) => {
    const session = await played(
      t,
      (method, cseq, socket) => {
        if (method === 'PLAY') socket.write(`${good(method, cseq, socket)}${packetOf(0).repeat(200_000)}`, 'latin1')
        return method === 'PLAY' ? null : good(method, cseq, socket)
      },
      { bytesPerS: 100_000 },
    )
    while (session.packets.length < 1) await new Promise((resolve) => setImmediate(resolve))
    // One chunk, of at most 64 KiB.
    t.ok(session.packets.length <= 20_000, `${session.packets.length} packets`)
    session.abort.abort()
    t.equal(await session.over, undefined)
  },
)

t.test('a stream that has moved is followed on its own host, and nowhere else', async (t) => {
  const other = await camera(t, good)
  const { port } = new URL(other.place.url)
  const sentTo = (location: string): Answers => {
    return (_, cseq) => `RTSP/1.0 302 Moved\r\nCSeq: ${cseq}\r\nLocation: ${location}\r\n\r\n`
  }
  const session = await played(t, sentTo(`rtsp://thief:x@127.0.0.1:${port}/moved`))
  while (other.asked.length < 3) await new Promise((resolve) => setImmediate(resolve))
  t.match(other.asked[0], new RegExp(`^DESCRIBE rtsp://127.0.0.1:${port}/moved RTSP`))
  session.abort.abort()
  t.equal(await session.over, undefined)
  while (other.asked.length < 4) await new Promise((resolve) => setImmediate(resolve))
  for (const location of [
    ...[`rtsp://localhost:${port}/`, `rtsp://127.0.0.2:${port}/`, `http://127.0.0.1:${port}/`, 'rtsp://', '', ' '],
    ...[`rtsp://127.0.0.1.:${port}/`, `rtsp://[::ffff:127.0.0.1]:${port}/`, 'file:///etc/passwd', `//other:${port}/`],
  ]) {
    const { asked, over } = await played(t, sentTo(location))
    t.match(await over, { code: 'camera_unsupported', message: /not its own host/ }, location)
    t.equal(asked.length, 1, location)
  }
  t.equal(other.asked.length, 4, 'nobody else was asked')
  const round = await played(t, (method, cseq, socket) => sentTo('/again')(method, cseq, socket))
  t.match(await round.over, { code: 'camera_unsupported', message: /from one address to the next/ })
  t.equal(round.asked.length, 5)
})

t.test('a camera that asks on and on, and never reads the answers, is left', async (t) => {
  const { over } = await played(
    t,
    (method, cseq, socket) => {
      if (method !== 'PLAY') return good(method, cseq, socket)
      socket.pause()
      const questions = 'OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n\r\n'.repeat(2000)
      const ask = () => void (socket.destroyed || socket.write(questions, ask))
      ask()
      return good(method, cseq, socket)
    },
    { bytesPerS: 1e9 },
  )
  t.match(await over, { code: 'rtsp_broken', message: /does not read the answers/ })
})

t.test('over UDP the camera is given ports, is heard on them, and what is too much is left out', async (t) => {
  const sender = createSocket('udp4')
  sender.bind(0, '127.0.0.1')
  await once(sender, 'listening')
  t.teardown(() => sender.close())
  let port = 0
  const answers: Answers = (method, cseq, socket) => {
    if (method !== 'SETUP') return good(method, cseq, socket)
    const transport = `RTP/AVP;unicast;client_port=${port}-${port + 1};server_port=${sender.address().port}-9`
    return `RTSP/1.0 200 OK\r\nCSeq: ${cseq}\r\nSession: 7\r\nTransport: ${transport}\r\n\r\n`
  }
  const session = await played(t, answers, { bytesPerS: 22_000 }, { isUdp: true })
  while (session.asked.length < 3) await new Promise((resolve) => setImmediate(resolve))
  port = Number(/client_port=(\d+)-/.exec(session.asked[1] ?? '')?.[1])
  for (const length of [8000, 8000, 8000]) sender.send(new Uint8Array(length), port, '127.0.0.1')
  while (session.packets.length < 2) await new Promise((resolve) => setImmediate(resolve))
  t.same(session.packets, [8000, 8000])
  const sending = setInterval(() => sender.send(new Uint8Array(9000), port, '127.0.0.1'), 1)
  t.teardown(() => clearInterval(sending))
  t.match(await session.over, { code: 'camera_floods' }, 'many times as much ends it')
})

t.test('a camera that sends another way than it was asked to says what to set', async (t) => {
  const set =
    (transport: string): Answers =>
    (method, cseq, socket) =>
      method === 'SETUP'
        ? `RTSP/1.0 200 OK\r\nCSeq: ${cseq}\r\nSession: 7\r\nTransport: ${transport}\r\n\r\n`
        : good(method, cseq, socket)
  const refused: Answers = (method, cseq, socket) =>
    method === 'SETUP' ? `RTSP/1.0 461 Unsupported transport\r\nCSeq: ${cseq}\r\n\r\n` : good(method, cseq, socket)
  for (const [answers, isUdp, message] of [
    [refused, true, /not send over UDP/],
    [refused, false, /not send over TCP/],
    [set('RTP/AVP;multicast;destination=224.0.0.9'), true, /not send over UDP/],
    [set('RTP/AVP;unicast;client_port=1-2'), false, /not send over TCP/],
  ] as const)
    t.match(await (await played(t, answers, {}, { isUdp })).over, { code: 'camera_unsupported', message })
})
