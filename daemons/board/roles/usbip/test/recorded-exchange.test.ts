/** A recorded session of Debian's usbip 2.0, replayed: the answers are those it understood. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { openDevlistReply, openImportReply, readOpRequest } from '../wire/op.ts'
import { type Exchange, RECORDED, startServer, talkToStockClient } from './stock-client.ts'

const recorded: Exchange[] = JSON.parse(readFileSync(RECORDED, 'utf8'))
const bytesOf = (hex: string) => Buffer.from(hex, 'hex')
const noClient = spawnSync('usbip', ['version']).error ? 'the package usbip is not installed' : false

t.test('the messages of the stock client are understood', async (t) => {
  t.same(
    recorded.map(({ request }) => readOpRequest(bytesOf(request))),
    [
      { kind: 'devlist' },
      { kind: 'import', busId: '1-2' },
      { kind: 'import', busId: '1-1' },
      { kind: 'import', busId: '1-1' },
    ],
  )
})

t.test('the answers that the stock client understood are decoded as they were meant', async (t) => {
  const [list, refused, taken, busy] = recorded.map(({ reply }) => bytesOf(reply))
  t.match(openDevlistReply(list ?? Buffer.of()), [
    { device: { busId: '1-1', vendorId: 0x0403, productId: 0x6001 }, interfaces: [{ interfaceClass: 255 }] },
  ])
  t.same(openImportReply(refused ?? Buffer.of()), { status: 'no_device' })
  t.match(openImportReply(taken ?? Buffer.of()), { status: 'ok', device: { busId: '1-1', speed: 2 } })
  t.same(openImportReply(busy ?? Buffer.of()), { status: 'busy' })
})

t.test('the same messages get the same answers, byte by byte', async (t) => {
  const port = await startServer(t)
  for (const { what, request, reply } of recorded) {
    const host = connect({ port, host: '127.0.0.1' })
    t.teardown(() => host.destroy())
    host.write(bytesOf(request))
    let heard = ''
    while (heard.length < reply.length) {
      const [bytes] = await once(host, 'data')
      heard += bytes.toString('hex')
    }
    t.equal(heard, reply, what)
  }
})

t.test(
  'the client of this machine sends the recorded messages, and shows the answers',
  { skip: noClient },
  async (t) => {
    const exchanges: Exchange[] = []
    const said = await talkToStockClient(t, exchanges)
    t.same(exchanges, recorded)
    const [list, refused, , busy] = said
    t.match(list, /1-1: .*\(0403:6001\)/)
    t.match(refused, /Device not found/)
    t.match(busy, /Device busy/)
  },
)
