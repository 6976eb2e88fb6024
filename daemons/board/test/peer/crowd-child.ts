/**
 * Many machines in one process, each with its own address, for tests of a crowded network.
 *
 *     crowd-child.ts boards ADDRESS...   each is a board: announced, and answering on port 80
 *     crowd-child.ts forge ADDRESS...    announces a thousand non-existent boards a second, until it is ended
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { Mdns } from '#kit/net/mdns/mdns.ts'
import { announced } from '#kit/test/net/mdns/messages.ts'

const [, , what, ...addresses] = process.argv

async function board(address: string): Promise<void> {
  const instance = `crowd-${address.replaceAll('.', '-')}`
  const name = `${instance}._plantroom._tcp.local`
  createServer((_request, reply) => reply.writeHead(401, { 'plantroom-instance': name }).end()).listen(80, address)
  const mdns = new Mdns({
    clock: systemClock,
    log: silentLog,
    config: { enabled: true, interface: address, per_second: 1000, recheck_ms: 600_000 },
    listenHost: address,
    announcement: () => ({ instance, hostname: instance, port: 80, text: { role: 'serial', name: instance } }),
  })
  await mdns.start()
}

/** Half of them once and never again, half in the name of existing boards. */
async function forge(): Promise<void> {
  const sockets = []
  for (const address of addresses) {
    const socket = createSocket({ type: 'udp4', reuseAddr: true }).bind({ port: 5353, address })
    await once(socket, 'listening')
    socket.setMulticastInterface(address)
    sockets.push({ socket, address })
  }
  for (let count = 0; ; count++) {
    const { socket, address } = sockets[count % sockets.length] ?? {}
    const id = count % 2 === 0 ? `forged-${count}` : `crowd-10-77-0-${100 + (count % 50)}`
    const texts = ['role=serial', 'name=Forged']
    socket?.send(
      announced({ id, texts, address, port: 1 + (count % 9999), ttlS: count % 8 === 1 ? 0 : 120 }),
      5353,
      '224.0.0.251',
    )
    if (count % 20 === 19) await sleep(20)
  }
}

if (what === 'boards') for (const address of addresses) await board(address)
else void forge()
process.stdout.write('ready\n')
