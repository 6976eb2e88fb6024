/** Announcements of strangers, from the wire to the answer of the API. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import type { FakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Mdns } from '#kit/net/mdns/mdns.ts'
import { anyText } from '#kit/test/any-text.ts'
import { CONFIG, fakeNetwork, settle } from '#kit/test/net/mdns/fake-network.ts'
import { announced } from '#kit/test/net/mdns/messages.ts'
import { peerRoutes } from '../api/peer-routes.ts'
import { peerRig } from './core/peers/peer-rig.ts'

const SELF = {
  hostname: 'me',
  address: '10.0.1.2',
  port: 80,
  role: 'serial',
  name: 'Me',
  version: '1.0.0',
  stream: null,
} as const

/** A board on a simulated wire; any board announced from 10.0.1.66 also answers, whatever its name. */
async function boardAmongStrangers() {
  const rig = peerRig()
  const network = fakeNetwork()
  const ids = new Set<string>()
  const mdns = new Mdns({
    clock: rig.clock,
    log: silentLog,
    config: CONFIG,
    listenHost: '0.0.0.0',
    announcement: () => ({ instance: 'board-me', hostname: 'me', port: 80, text: { role: 'serial' } }),
    finding: {
      queryMs: 10_000,
      onHeard(service) {
        ids.add(service.id)
        for (const address of service.reach) rig.answers.set(`${address}:${service.port}`, service.id)
        rig.table.hear(service)
      },
      onGoodbye: (id) => rig.table.bidFarewell(id),
    },
    world: network.worldOf({ eth0: ['10.0.1.2'] }),
  })
  await mdns.start()
  const [route] = peerRoutes({ self: () => SELF, table: rig.table, recorder: { changed: async () => {} } })
  const answer = () => route?.handle({} as never) as Record<string, unknown>[]
  return { ...rig, network, mdns, answer, ids }
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 200) {
    await clock.run(200)
    await settle(2)
  }
}

/** What an answer is allowed to hold, whatever was announced. */
function faultOf(peer: Record<string, unknown>): string | undefined {
  const texts = Object.values(peer).filter((value) => typeof value === 'string')
  if (texts.some((text) => text.length > 64 || !text.isWellFormed())) return 'a text is too long or broken'
  if (texts.some((text) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text))) return 'a text has signs that are not seen'
  const { hostname, IP, role, stream, url, path, version, port } = peer
  if (!/^[a-z0-9-]{0,63}$/.test(String(hostname))) return 'the hostname is none'
  if (!/^[\d.a-f:]+$/.test(String(IP))) return 'the address is none'
  if (!['encoder', 'decoder', 'serial', 'usbip'].includes(String(role))) return 'the role is none'
  if (stream !== null && !/^[\d.]+:\d+$/.test(String(stream))) return 'the stream is none'
  if (!/^http:\/\/[\d.a-f:[\]]+$/.test(String(url))) return 'the address of the page is none'
  if (!/^\/(?!\/)[\w.~/-]*$/.test(String(path))) return 'the path is none'
  if (version !== null && !/^[\w.+-]+$/.test(String(version))) return 'the version is none'
  return Number.isInteger(port) ? undefined : 'the port is none'
}

const markup = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "';--",
  '{{7*7}}',
  '\u202eevil',
  '\0',
  '\r\nSet-Cookie: a=b',
]
const nasty = fc.oneof(fc.constantFrom(...markup), anyText({ maxLength: 60 }))

t.test('B.peers texts of a hostile announcement appear in answers only as short plain text', async (t) => {
  const { answer, clock, ids, network } = await boardAmongStrangers()
  await fc.assert(
    fc.asyncProperty(fc.tuple(nasty, nasty, nasty, nasty, nasty), async ([name, path, version, stream, host]) => {
      const texts = [
        `name=${name}`,
        `path=${path}`,
        `version=${version}`,
        `stream=${stream}`,
        'role=serial',
        `${name}=${path}`,
      ]
      const short = texts.filter((text) => Buffer.byteLength(text) < 256)
      const label = Buffer.from(host).subarray(0, 60).toString('latin1').replaceAll('.', '-') || 'x'
      for (const address of ['10.0.1.66', '10.0.1.67'])
        network.say(
          address,
          announced({
            id: `n${ids.size}`,
            host: `${label}.local`,
            texts: short,
            address,
            port: 8000 + (ids.size % 99),
          }),
        )
      await pass(clock, 600)
      for (const peer of answer()) {
        const fault = faultOf(peer)
        if (fault) throw new Error(`${fault}: ${JSON.stringify(peer)}`)
      }
    }),
    { numRuns: 300 },
  )
  t.ok(ids.size > 20, `${ids.size} were heard`)
  t.ok(answer().length > 1, 'and some of them are listed')
})

t.test('no mutation of an announcement, and no random bytes, break anything', async (t) => {
  const { answer, clock, mdns, network } = await boardAmongStrangers()
  const mutated = fc.tuple(fc.nat(400), fc.nat(255), fc.nat(400)).map(([at, byte, length]) => {
    const bytes = announced({ id: 'real', texts: ['role=serial', 'name=Real'], address: '10.0.1.66' })
    bytes[at % bytes.length] = byte
    return bytes.subarray(0, Math.max(12, length))
  })
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        mutated,
        fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
      ),
      async (bytes) => {
        network.say('10.0.1.66', bytes)
        await pass(clock, 200)
        const fault = answer()
          .map(faultOf)
          .find((found) => found !== undefined)
        if (fault) throw new Error(fault)
      },
    ),
    { numRuns: 1000 },
  )
  t.equal(mdns.counts().broken, 0)
})

t.test('B.peers a thousand forged announcements a second do not hide a board, nor a new one', async (t) => {
  const { answer, clock, network, table } = await boardAmongStrangers()
  const real = (at: number) =>
    network.say(
      `10.0.1.${at}`,
      announced({ id: `real${at}`, texts: ['role=serial', `name=Real ${at}`], address: `10.0.1.${at}` }),
    )
  real(3)
  await pass(clock, 1000)
  const names = () => answer().map(({ name }) => name)
  t.ok(names().includes('Real 3'))
  for (let round = 0; round < 100; round++) {
    for (let count = 0; count < 20; count++)
      network.say(
        '10.0.1.66',
        announced({ id: `f${round}x${count}`, texts: ['role=serial'], address: '10.0.1.66', port: 1 + count }),
      )
    network.say(
      '10.0.1.66',
      announced({ id: 'real3', texts: ['role=serial', 'name=Forged'], address: '10.0.1.66', port: 9 }),
    )
    network.say('10.0.1.66', announced({ id: 'real3', texts: ['role=serial'], address: '10.0.1.66', ttlS: 0 }))
    if (round === 50) real(4)
    await pass(clock, 200)
    if (!names().includes('Real 3')) t.fail(`hidden in round ${round}`)
  }
  t.ok(names().includes('Real 3') && names().includes('Real 4'), names().join())
  t.notOk(names().includes('Forged'))
  const { states } = table.counts()
  t.ok(states.new + states.alive + states.unreachable <= 16 + 2, JSON.stringify(states))
  t.ok(states.absent <= 16, 'one machine that answers under every name has no more remembered')
})

t.test('B.peers ten thousand forged announcements leave nothing behind', async (t) => {
  const { answers, asked, clock, ids, network, table } = await boardAmongStrangers()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  async function flood(count: number): Promise<number> {
    for (let at = 0; at < count; at++) {
      const address = `10.0.1.${3 + (at % 250)}`
      network.say(
        address,
        announced({ id: `f${at}-${count}`, texts: ['role=serial', `name=${at}`], address, port: 1 + (at % 60_000) }),
      )
      if (at % 500 < 499) continue
      await pass(clock, 400)
      // What the test itself has recorded.
      for (const list of [network.heard, asked]) list.length = 0
      for (const set of [answers, ids]) set.clear()
    }
    collect()
    return process.memoryUsage().heapUsed / 1e6
  }
  const firstMb = await flood(2000)
  const lastMb = await flood(8000)
  t.comment(`${firstMb.toFixed(1)} MB after 2000, ${lastMb.toFixed(1)} MB after 10 000`)
  t.ok(lastMb - firstMb < 3, 'no more is held')
  const { states } = table.counts()
  t.ok(states.new + states.alive + states.unreachable <= 256)
  t.ok(states.absent <= 128, JSON.stringify(states))
})
