/** The real board as serial server, over time: settings under load, clients that are dropped, peers that vanish. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { plugIn } from '#kit/test/line/named-pty.ts'
import { until } from '#kit/test/until.ts'
import { asksOf, makeNetwork, noNetworkBecause } from '../../../test/network.ts'
import { startBoard } from '../../../test/running-board.ts'
import { client, serialRigs } from './serial-rig.ts'

const run = promisify(execFile)
const noSs = existsSync('/usr/bin/ss') || existsSync('/bin/ss') ? false : 'needs iproute2'
const noNamespace = existsSync('/usr/bin/socat') ? (noNetworkBecause() ?? false) : 'needs socat'

const rigFor = serialRigs(t)

t.test('B.serial settings are changed under load without a lost byte, and no client is dropped', async (t) => {
  const rig = await rigFor(t, ['raw', 'rfc2217'])
  for (const [index, device] of rig.devices.entries()) {
    device.onBytes((bytes) => void device.write(bytes))
    const one = await client(t, rig.ports[index] ?? 0)
    const piece = Buffer.alloc(4096)
    let sent = 0
    let changes = 0
    await until('it is in', async () => (await rig.port(index + 1)).clients.length === 1)
    const send = async () => {
      while (changes < 30) {
        // No FF: this client speaks no Telnet.
        for (let at = 0; at < piece.length; at++) piece[at] = ((sent + at) * 7) % 251
        if (!one.socket.write(Buffer.from(piece))) await new Promise((go) => one.socket.once('drain', go))
        sent += piece.length
        await new Promise((go) => setTimeout(go, 1))
      }
    }
    const sending = send()
    while (changes < 30) {
      const fields = {
        baud: 9600 + changes,
        stop_bits: (changes % 2) + 1,
        flow: changes % 3 === 0 ? 'rtscts' : 'none',
      }
      const answer = await rig.set(fields, index + 1)
      t.equal(answer.status, 200, JSON.stringify(answer.body))
      changes++
    }
    await sending
    const heard = () => (index === 0 ? one.bytes() : withoutTelnet(one.bytes()))
    await until('all has come back', () => heard().length === sent, 30_000)
    t.ok(
      heard().every((byte, at) => byte === (at * 7) % 251),
      `port ${index + 1}: ${sent} bytes equal`,
    )
    t.equal(one.isClosed, false)
    one.socket.destroy()
  }
})

/** What the server offered at the beginning, each of three bytes. */
function withoutTelnet(bytes: Buffer): Buffer {
  let at = 0
  while (bytes[at] === 255) at += 3
  return bytes.subarray(at)
}

t.test('B.serial.drop one client is dropped by its id, and that is in the journal', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const [one, other] = [await client(t, port), await client(t, port)]
  await until('both are in', async () => (await rig.port()).clients.length === 2)
  const [{ id, client_port }] = (await rig.port()).clients
  const [gone, stays] = one.socket.localPort === client_port ? [one, other] : [other, one]
  const dropped = await rig.post('/api/serial/drop', { port: String(rig.numberOf(1)), client: String(id) })
  t.match(dropped, { status: 200, body: { dropped: id } })
  await until('it has gone', () => gone.isClosed)
  t.equal(stays.isClosed, false)
  t.match(await rig.post('/api/serial/drop', { port: String(rig.numberOf(1)), client: String(id) }), {
    status: 404,
    body: { error: 'unknown_client' },
  })
  t.match(JSON.stringify((await rig.get('/api/journal')).body), /serial client dropped/)
})

t.test('B.serial keep-alive finds a vanished peer within 60 s', { skip: noSs }, async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  await client(t, port)
  await until('it is in', async () => (await rig.port()).clients.length === 1)
  const { stdout } = await run('ss', ['-Htno', 'state', 'established', `( sport = :${port} )`])
  const [, seconds = ''] = /timer:\(keepalive,(\d+)(?:\.\d+)?sec/.exec(stdout) ?? []
  // 35 s of silence, then four questions 6 s apart; what the tests of half-open peers shorten.
  t.ok(Number(seconds) > 0 && Number(seconds) <= 35, stdout)
})

/** A board and a client on machines of their own: this machine's network, and browsers that watch it, notice nothing. */
async function clientBehindCable(t: Test) {
  const network = makeNetwork(t)
  const [server, peer] = [network.machine('10.77.0.2'), network.machine('10.77.0.3')]
  const device = plugIn(`board-cable-${process.pid}`)
  t.teardown(() => device.unplug())
  const patience = ['keepalive_idle_s=1', 'keepalive_interval_s=1', 'keepalive_count=2', 'user_timeout_ms=2000']
  await startBoard(t, {
    listen: '0.0.0.0:8080',
    within: server.within,
    sets: [
      `serial.devices=${JSON.stringify([device.path])}`,
      'mdns.enabled=false',
      ...patience.map((s) => `serial.${s}`),
    ],
  })
  const asks = await asksOf(t, server, 8080)
  const ask = async (form?: Record<string, string>) => JSON.parse(await asks('/api/serial', form))
  const set = await ask({ port: '1', enabled: '1', mode: 'raw', tcp_port: '4001' })
  t.notOk(set.error, JSON.stringify(set))
  const [program = '', ...args] = [...peer.within, 'socat', '-u', 'TCP:10.77.0.2:4001', '-']
  const far = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => far.kill())
  let heard = ''
  far.stdout.on('data', (bytes) => (heard += String(bytes)))
  return {
    device,
    heard: () => heard,
    cut: () => peer.plug(false),
    clients: async () => (await ask()).ports[0].clients,
  }
}

for (const [what, isTalking] of [
  ['a quiet line', false],
  ['a line that goes on talking', true],
] as const)
  t.test(`B.serial a peer whose cable is cut is found on ${what}`, { skip: noNamespace }, async (t) => {
    const { device, heard, cut, clients } = await clientBehindCable(t)
    await until('it is in', async () => (await clients()).length === 1)
    await device.write(Buffer.from('hello'))
    await until('it hears the line', () => heard() === 'hello')
    cut()
    if (isTalking) await device.write(Buffer.from('anybody there?'))
    // On its own the kernel would give it a quarter of an hour.
    await until('it is given up', async () => (await clients()).length === 0)
    t.same(await clients(), [])
  })
