/** The real board as serial server, over time: settings under load, clients that are dropped, peers that vanish. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { noCables } from '#kit/test/cables.ts'
import { until } from '#kit/test/until.ts'
import { client, serialRig } from './serial-rig.ts'

const run = promisify(execFile)
const noSs = existsSync('/usr/bin/ss') || existsSync('/bin/ss') ? false : 'needs iproute2'
const noNamespace = noSs || (existsSync('/usr/bin/socat') ? noCables() : 'needs socat')

t.test(
  'B.serial settings are changed under load without a lost byte, and nobody is dropped',
  { timeout: 90_000 },
  async (t) => {
    const rig = await serialRig(t, ['raw', 'rfc2217'])
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
  },
)

/** What the server offered at the beginning, each of three bytes. */
function withoutTelnet(bytes: Buffer): Buffer {
  let at = 0
  while (bytes[at] === 255) at += 3
  return bytes.subarray(at)
}

t.test('B.serial.drop one client is let go by its id, and it is in the journal', { timeout: 60_000 }, async (t) => {
  const rig = await serialRig(t, ['raw'])
  const [port = 0] = rig.ports
  const [one, other] = [await client(t, port), await client(t, port)]
  await until('both are in', async () => (await rig.port()).clients.length === 2)
  const [{ id, client_port }] = (await rig.port()).clients
  const [gone, stays] = one.socket.localPort === client_port ? [one, other] : [other, one]
  const dropped = await rig.post('/api/serial/drop', { port: '1', client: String(id) })
  t.match(dropped, { status: 200, body: { dropped: id } })
  await until('it has gone', () => gone.isClosed)
  t.equal(stays.isClosed, false)
  t.match(await rig.post('/api/serial/drop', { port: '1', client: String(id) }), {
    status: 404,
    body: { error: 'unknown_client' },
  })
  t.match(JSON.stringify((await rig.get('/api/journal')).body), /serial client dropped/)
})

t.test('B.serial keep-alive finds a vanished peer within 60 s', { timeout: 60_000, skip: noSs }, async (t) => {
  const rig = await serialRig(t, ['raw'])
  const [port = 0] = rig.ports
  await client(t, port)
  await until('it is in', async () => (await rig.port()).clients.length === 1)
  const { stdout } = await run('ss', ['-Htno', 'state', 'established', `( sport = :${port} )`])
  const [, seconds = ''] = /timer:\(keepalive,(\d+)(?:\.\d+)?sec/.exec(stdout) ?? []
  // 35 s of silence, then four questions 6 s apart; what the tests of half-open peers shorten.
  t.ok(Number(seconds) > 0 && Number(seconds) <= 35, stdout)
})

let cables = 0

/** A network namespace with a cable to this one; both ends go with the test. */
async function cable(t: Test): Promise<{ name: string; here: string; cut(): Promise<unknown> }> {
  const name = `plant${process.pid}${cables++}`
  const ip = (...args: string[]) => run('ip', args)
  const net = `10.${250 + cables}.${process.pid % 250}`
  await ip('netns', 'add', name)
  t.teardown(() => ip('netns', 'del', name))
  await ip('link', 'add', `${name}h`, 'type', 'veth', 'peer', 'name', 'far', 'netns', name)
  await ip('addr', 'add', `${net}.1/30`, 'dev', `${name}h`)
  await ip('link', 'set', `${name}h`, 'up')
  const within = (...args: string[]) => ip('netns', 'exec', name, 'ip', ...args)
  await within('addr', 'add', `${net}.2/30`, 'dev', 'far')
  await within('link', 'set', 'far', 'up')
  return { name, here: `${net}.1`, cut: () => within('link', 'set', 'far', 'down') }
}

for (const [what, isTalking] of [
  ['a quiet line', false],
  ['a line that goes on talking', true],
] as const)
  t.test(
    `B.serial a peer whose cable is cut is found on ${what}`,
    { timeout: 60_000, skip: noNamespace },
    async (t) => {
      const { name, here, cut } = await cable(t)
      const patience = ['keepalive_idle_s=1', 'keepalive_interval_s=1', 'keepalive_count=2', 'user_timeout_ms=2000']
      const rig = await serialRig(t, ['raw'], { sets: patience.map((set) => `serial.${set}`) })
      const far = spawn('ip', ['netns', 'exec', name, 'socat', '-u', `TCP:${here}:${rig.ports[0]}`, '-'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      t.teardown(() => far.kill())
      let heard = ''
      far.stdout.on('data', (bytes) => (heard += String(bytes)))
      await until('it is in', async () => (await rig.port()).clients.length === 1)
      await rig.devices[0]?.write(Buffer.from('hello'))
      await until('it hears the line', () => heard === 'hello')
      await cut()
      if (isTalking) await rig.devices[0]?.write(Buffer.from('anybody there?'))
      // By itself the kernel would give it a quarter of an hour.
      await until('it is given up', async () => (await rig.port()).clients.length === 0)
      t.match(await rig.port(), { clients: [] })
    },
  )
