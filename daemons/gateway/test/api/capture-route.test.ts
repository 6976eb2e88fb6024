import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { type CaptureRouteParts, captureRoute } from '../../api/live-routes.ts'
import type { CaptureSink } from '../../core/lines/capture.ts'
import { memoryPlan } from '../../core/memory.ts'

const BACKLOG = 1_048_576

/** A capture over HTTP whose records the test writes. */
async function captureHere(t: Parameters<typeof serve>[0]) {
  const begun = Promise.withResolvers<CaptureSink>()
  const captures = {
    start(_port: string, _protocol: string, sink: CaptureSink) {
      begun.resolve(sink)
      return () => {}
    },
  }
  const parts = { captures, registry: { record: () => ({ protocol: 'raw' }) }, backlogBytes: BACKLOG }
  const accepted = Promise.withResolvers<Socket>()
  const accept = (message: unknown) => accepted.resolve((message as { socket: Socket }).socket)
  subscribe('net.server.socket', accept)
  t.teardown(() => unsubscribe('net.server.socket', accept))
  const { port, ask } = await serve(t, {
    routes: [{ ...captureRoute(parts as unknown as CaptureRouteParts), who: 'anyone' }],
  })
  return { ask, port, begun: begun.promise, accepted: accepted.promise }
}

const PATH = '/api/ports/%2Fdev%2Fa/capture.pcap'
const turn = () => new Promise(setImmediate)

t.test('each record is sent as it comes, and the file ends with the capture', async (t) => {
  const { ask, begun } = await captureHere(t)
  const answer = ask(PATH)
  const sink = await begun
  sink.write(Buffer.from('head,'))
  const reader = (await answer).body?.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const hears = async (end: string) => {
    while (!heard.endsWith(end)) heard += (await reader?.read())?.value ?? t.fail('it broke off')
  }
  await hears('head,')
  const numbers = Array.from({ length: 5000 }, (_, at) => `<${at}>`)
  for (const text of ['one,', 'two,', '3'.repeat(12_000), numbers.join('')]) {
    t.ok(sink.write(Buffer.from(text)))
    await hears(text)
  }
  for (const text of numbers) sink.write(Buffer.from(text))
  sink.end()
  await hears(numbers.join('').repeat(2))
  t.ok((await reader?.read())?.done)
})

t.test('a capture of the shortest records that nobody reads takes the memory its row says', async (t) => {
  const { port, begun, accepted } = await captureHere(t)
  const client = connect(port, '127.0.0.1').pause()
  client.on('error', () => {})
  t.teardown(() => client.destroy())
  client.write(`GET ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  const [sink, socket] = await Promise.all([begun, accepted])
  // The kernel takes no more.
  for (let turns = 0; turns < 10; turns++) {
    while (socket.writableLength === 0) {
      sink.write(new Uint8Array(32_000))
      await turn()
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const before = await heldBytes()
  const record = new Uint8Array(17)
  let records = 0
  for (; sink.write(record); records++) if (socket.writableLength < 65_536) await turn()
  const bytes = (await heldBytes()) - before
  t.ok(records > 50_000, `${records} records wait`)
  const settings = { 'capture.backlog_bytes': BACKLOG, 'capture.max': 1 }
  const { allBytes } = rowOf(memoryPlan().rows, 'live captures', settings)
  t.ok(bytes < allBytes, `${bytes} bytes of ${allBytes}`)
})
