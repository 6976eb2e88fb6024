import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { cpuMsOf } from '#kit/test/cpu-time.ts'
import {
  type InterleavedPacket,
  type RtspMessage,
  RtspReader,
  readChannels,
  readSession,
  rtspText,
} from '../../wire/rtsp.ts'

const bounds = { headBytes: 1024, bodyBytes: 2048 }
const bytesOf = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0))

const reply =
  'RTSP/1.0 200 OK\r\nCSeq: 2\r\nWWW-Authenticate: one\r\nwww-authenticate: two\r\nContent-Length: 5\r\n\r\nv=0\r\n'
const packet = Uint8Array.of(0x24, 1, 0, 3, 7, 8, 9)

/** A reply, a packet, a request of the server's, in one stream. */
const stream = Uint8Array.from([
  ...bytesOf(reply),
  ...packet,
  ...bytesOf('OPTIONS rtsp://x/ RTSP/1.0\nCSeq: 9\n\n'),
  ...packet,
])

function readIn(pieces: Uint8Array[]) {
  const reader = new RtspReader(bounds)
  return pieces.flatMap((piece) =>
    reader.read(piece).map((item) => (item.kind === 'packet' ? { ...item, bytes: [...item.bytes] } : item)),
  )
}

t.test('reads messages and packets however the stream is cut', async (t) => {
  const whole = readIn([stream])
  t.match(whole, [
    { kind: 'message', status: 200, word: 'OK' },
    { kind: 'packet', channel: 1, bytes: [7, 8, 9] },
    { kind: 'message', status: undefined, word: 'OPTIONS' },
    { kind: 'packet', channel: 1 },
  ])
  const [first] = whole as RtspMessage[]
  t.same(first?.headers.get('www-authenticate'), ['one', 'two'])
  t.equal(new TextDecoder().decode(first?.body), 'v=0\r\n')
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: stream.length })), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length]
      const pieces = places.slice(1).map((end, at) => stream.slice(places[at], end))
      return JSON.stringify(readIn(pieces)) === JSON.stringify(whole)
    }),
  )
})

t.test('a camera that sends byte by byte does not have what it has sent read again for each byte', async (t) => {
  const lines = 'a: b\r\n'.repeat(2000)
  const begins = {
    'the body behind a long head': `RTSP/1.0 200 OK\r\n${lines}Content-Length: 65536\r\n\r\n`,
    'a head of short lines': `RTSP/1.0 200 OK\r\n${'\ta\n'.repeat(2000)}`,
    'a packet': '$\u0000\u00ff\u00ff',
  }
  for (const [name, begin] of Object.entries(begins)) {
    const reader = new RtspReader({ headBytes: 16_384, bodyBytes: 65_536 })
    t.same(reader.read(bytesOf(begin)), [], name)
    const tookMs = cpuMsOf(() => {
      for (let count = 0; count < 8000; count++) reader.read(Uint8Array.of(120))
    })
    // It was 3.5 s behind a long head and half a second within one; now it is 20 ms.
    t.ok(tookMs < 250, `${name}: ${tookMs} ms for 8000 bytes`)
  }
})

t.test('takes the line end that some cameras send behind a body', async (t) => {
  t.equal(readIn([bytesOf(`${reply}\r\n${reply}`)]).length, 2)
})

t.test('gives up what is no message, a head without end, and a body that is too long', async (t) => {
  for (const text of ['GET / HTTP/1.1\r\n\r\n', 'x'.repeat(1025), 'RTSP/1.0 200 OK\r\nContent-Length: 2049\r\n\r\n'])
    t.throws(() => new RtspReader(bounds).read(bytesOf(text)), { code: 'rtsp_broken' }, text.slice(0, 30))
  t.throws(() => readIn([bytesOf('RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n')]), { code: 'rtsp_broken' })
})

t.test('never throws anything but a fault, and holds no more than a message, whatever is sent', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), fc.nat(stream.length), fc.nat(255), (noise, at, byte) => {
      const mutated = stream.slice()
      mutated[at] = byte
      const reader = new RtspReader(bounds)
      try {
        for (const piece of [mutated, ...noise])
          for (const item of reader.read(piece)) if (item.kind === 'packet') lengthOf(item)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
})

function lengthOf({ bytes }: InterleavedPacket): void {
  if (bytes.length > 65_535) throw new TypeError('too long')
}

t.test('writes no header that a camera smuggled into its address', async (t) => {
  t.equal(
    rtspText({ first: 'PLAY rtsp://x/ RTSP/1.0', headers: { CSeq: 3 } }),
    'PLAY rtsp://x/ RTSP/1.0\r\nCSeq: 3\r\n\r\n',
  )
  t.throws(() => rtspText({ first: 'PLAY rtsp://x/\r\nEvil: 1 RTSP/1.0', headers: {} }), { code: 'rtsp_broken' })
})

t.test('reads what SETUP answers', async (t) => {
  t.same(readSession('12345678;timeout=30'), { id: '12345678', timeoutS: 30 })
  t.same(readSession('ab'), { id: 'ab', timeoutS: 60 })
  for (const none of [undefined, '', 'a b;timeout=1']) t.equal(readSession(none), undefined)
  t.same(readChannels('RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=1'), [2, 3])
  for (const none of [undefined, 'RTP/AVP;unicast;client_port=1-2', 'x;interleaved=400-401'])
    t.equal(readChannels(none), undefined)
})
