/** Tests of a capture taken by the page. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { captureName, liveCommand, startCapture } from '../../web/console.ts'

/** A gateway that streams the bytes given. */
function streaming() {
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined
  let signal: AbortSignal | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      feed = controller
    },
  })
  const from = async (_path: string, init: RequestInit): Promise<Response> => {
    signal = init.signal ?? undefined
    return new Response(body)
  }
  return {
    from,
    push: (bytes: number) => feed?.enqueue(new Uint8Array(bytes)),
    end: () => feed?.close(),
    left: () => signal?.aborted,
  }
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn()
}

t.test('keeps what comes until it is stopped', async (t) => {
  const line = streaming()
  const capture = startCapture('/dev/ttyUSB0', 0, line.from)
  line.push(24)
  await settled()
  t.equal(capture.hasFrames(), false, 'the header of the file is not a frame')
  line.push(40)
  await settled()
  t.equal(capture.hasFrames(), true)
  t.equal(
    capture.stop().reduce((all, part) => all + part.length, 0),
    64,
  )
  t.equal(line.left(), true, 'the request to the gateway is ended')
  t.equal(capture.ended.value, null, 'a stop by hand is not a fault')
})

t.test('says why it ended on its own, and keeps what came', async (t) => {
  const line = streaming()
  const capture = startCapture('/dev/ttyUSB0', 0, line.from)
  line.push(64)
  line.end()
  await settled()
  t.match(capture.ended.value, /ended the capture/)
  t.equal(capture.stop().length, 1)
  const refused = startCapture('/dev/x', 0, async () => Response.json({ message: 'no such line' }, { status: 404 }))
  await settled()
  t.equal(refused.ended.value, 'no such line')
})

t.test('grows to its limit and no further', async (t) => {
  const line = streaming()
  const capture = startCapture('/dev/ttyUSB0', 0, line.from)
  line.push(63_000_000)
  line.push(2_000_000)
  await settled()
  t.match(capture.ended.value, /reached its limit/)
  t.equal(capture.sizeBytes.value, 63_000_000)
})

t.test('names the file and the command', async (t) => {
  t.equal(captureName('pts/3', '2031-03-09', '14:02:31'), 'pts-3-2031-03-09-140231.pcap')
  t.match(liveCommand('http://box', '/dev/ttyUSB0'), "'http://box/api/ports/%2Fdev%2FttyUSB0/capture.pcap' | wireshark")
})
