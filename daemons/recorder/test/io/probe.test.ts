import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { noCables } from '#kit/test/cables.ts'
import { until } from '#kit/test/until.ts'
import { createProber } from '../../io/probe.ts'
import type { ProbeMatch } from '../../wire/ws-discovery.ts'
import { cameraTurn, type PeerTraits, probeMatchText, startOnvifPeer } from '../peer/onvif-camera.ts'

const limits = { waitMs: 4000, answers: 64, answersPerAddress: 12 }

/** A scan on the loopback that lasts until `isEnough`. */
async function scan(isEnough: (heard: Heard[]) => boolean, bounds = limits, heard: Heard[] = []): Promise<Heard[]> {
  const clock = fakeClock()
  const prober = createProber({ clock, log: silentLog, limits: bounds, wanted: 'lo' })
  const over = prober.probe((match, address) => heard.push({ ...match, from: address }))
  let passedMs = 0
  await until('enough is heard', () => {
    // Datagrams get lost: it is asked again in the first half of the wait.
    if (passedMs < bounds.waitMs / 2) clock.advance(20)
    passedMs += 20
    return isEnough(heard)
  })
  clock.advance(bounds.waitMs)
  await over
  return heard
}

type Heard = ProbeMatch & { from: string }

const peer = (t: Test, wish: Partial<PeerTraits> & { host: string }) => startOnvifPeer(t, wish)

await cameraTurn(t)

t.test('cameras answer from their own addresses', async (t) => {
  const [one, other] = [await peer(t, { host: '127.0.4.1' }), await peer(t, { host: '127.0.4.2', name: 'Gate' })]
  const heard = await scan((all) => new Set(all.map(({ from }) => from)).size === 2)
  const of = (host: string) => heard.find(({ from }) => from === host)
  t.match(of('127.0.4.1'), { name: 'Yard camera', model: 'PC-1' })
  t.ok(of('127.0.4.1')?.addresses.includes(one.service))
  t.ok(of('127.0.4.2')?.addresses.includes(other.service))
})

t.test('what is no answer is left out, and a flood of one host takes no answer of another', async (t) => {
  const heard: Heard[] = []
  const isFlooded = () => heard.filter(({ from }) => from === '127.0.4.3').length >= 8
  await peer(t, {
    host: '127.0.4.3',
    answerProbe(send, answer, messageId) {
      send('<!DOCTYPE a><a/>')
      send('x'.repeat(20_000))
      send(answer.replace(messageId, 'urn:uuid:of-somebody-else'))
      const about = (at: number) => ({ endpoint: `e${at}`, address: 'http://127.0.4.3/', name: `flood ${at}` })
      for (let at = 0; at < 100; at++) send(probeMatchText(messageId, about(at)))
    },
  })
  await peer(t, {
    host: '127.0.4.4',
    answerProbe: (send, answer) => void until('the flood', isFlooded).then(() => send(answer)),
  })
  await scan((all) => all.some(({ from }) => from === '127.0.4.4'), limits, heard)
  const flood = heard.filter(({ from }) => from === '127.0.4.3')
  t.ok(flood.length <= limits.answersPerAddress, `${flood.length} of it`)
  t.notOk(flood.some(({ name }) => name === 'Yard camera'))
})

t.test('no more is read in all than the setting says', async (t) => {
  for (let at = 1; at <= 4; at++) await peer(t, { host: `127.0.5.${at}` })
  const heard = await scan((all) => all.length === 2, { ...limits, answers: 2 })
  t.equal(heard.length, 2)
})

/** Run in a network namespace of its own. */
const inSpace = `
  import { systemClock } from '#kit/clock.ts'
  import { silentLog } from '#kit/log.ts'
  import { createProber } from '${join(import.meta.dirname, '../../io/probe.ts')}'
  const limits = { waitMs: 200, answers: 64, answersPerAddress: 12 }
  setInterval(() => {}, 1000)
  console.log(await createProber({ clock: systemClock, log: silentLog, limits, wanted: '' }).probe(() => {}))
  process.exit()`

t.test('every network with an address is asked', { skip: noCables() }, async (t) => {
  const space = `pt-onvif-${process.pid}`
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'pipe', 'pipe'] }).toString()
  ip('netns', 'add', space)
  t.teardown(() => void ip('netns', 'del', space))
  for (const [name, address] of [
    ['one', '10.77.1.1/24'],
    ['two', '10.77.2.1/24'],
  ] as const) {
    ip('-n', space, 'link', 'add', name, 'type', 'veth', 'peer', 'name', `far-${name}`)
    ip('-n', space, 'addr', 'add', address, 'dev', name)
    ip('-n', space, 'link', 'set', `far-${name}`, 'up')
    ip('-n', space, 'link', 'set', name, 'up')
  }
  const node = [process.execPath, '--input-type=module', '-e', inSpace]
  t.equal(ip('netns', 'exec', space, ...node).trim(), '2')
  const counted = (name: string) => Number(/TX:.*\n +\d+ +(\d+)/.exec(ip('-n', space, '-s', 'link', 'show', name))?.[1])
  t.ok(counted('one') >= 3 && counted('two') >= 3, 'on each three times')
})
