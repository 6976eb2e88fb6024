/** Tests of pure/memory-plan.ts: how many bytes the kernel holds that nobody reads. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { KERNEL_BYTES } from '../../pure/memory-plan.ts'
import { until } from '../until.ts'

/** Bytes that wait to be read on connections to a port. @source proc(5): net/tcp, local_address and rx_queue, hex */
function waitingOn(port: number): number[] {
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const fields = rows.map((row) => row.trim().split(/\s+/))
  const isOpen = (state: string | undefined) => state === '01'
  return fields
    .filter(([, address, , state]) => address?.endsWith(local) && isOpen(state))
    .map(([, , , , queues]) => Number.parseInt(queues?.split(':')[1] ?? '', 16))
}

const [, usual] = readFileSync('/proc/sys/net/ipv4/tcp_rmem', 'utf8').trim().split(/\s+/)
const skip = Number(usual) === KERNEL_BYTES ? false : `this machine has net.ipv4.tcp_rmem ${usual}`

t.test(
  'the kernel holds no more of a connection that nobody reads than the rows say, however much is sent',
  { skip },
  async (t) => {
    const accepted: Socket[] = []
    const server = createServer({ pauseOnConnect: true }, (socket) => void accepted.push(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const clients = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
    t.teardown(() => {
      for (const socket of [...clients, ...accepted]) socket.destroy()
      server.close()
    })
    for (const client of clients) client.write(Buffer.alloc(1_048_576, 'x'))
    await until('all are there', () => accepted.length === clients.length)
    let before: number[] = []
    await until('nothing more is taken', async () => {
      const now = waitingOn(port)
      const isSame = now.length === clients.length && now.every((bytes, at) => bytes > 0 && bytes === before[at])
      before = now
      await new Promise((resolve) => setTimeout(resolve, 50))
      return isSame
    })
    t.ok(Math.max(...before) <= KERNEL_BYTES, `${Math.max(...before)} bytes, of ${KERNEL_BYTES}`)
  },
)
