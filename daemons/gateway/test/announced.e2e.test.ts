/** The gateway on the network, over the loopback interface. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { Mdns } from '#kit/net/mdns/mdns.ts'
import { startGateway } from './running-gateway.ts'

async function until(holds: () => boolean, ms: number): Promise<boolean> {
  const endMs = performance.now() + ms
  while (!holds() && performance.now() < endMs) await sleep(50)
  return holds()
}

t.test('the gateway is found by role and name, renamed, and gone when it stops', async (t) => {
  const heard = new Map<string, HeardService>()
  const finder = new Mdns({
    clock: systemClock,
    log: silentLog,
    config: { enabled: true, interface: '127.0.0.1', per_second: 1000, recheck_ms: 2000 },
    listenHost: '127.0.0.1',
    announcement: () => ({ instance: `test-${process.pid}`, hostname: 'test', port: 9, text: { role: 'test' } }),
    finding: {
      queryMs: 1000,
      onHeard: (service) => void heard.set(service.id, service),
      onGoodbye: (id) => void heard.delete(id),
    },
  })
  await finder.start()
  t.teardown(() => finder.stop())
  const gateway = await startGateway(t, { sets: ['mdns.recheck_ms=100'] })
  await gateway.setUp()
  const port = Number(new URL(gateway.url).port)
  const ours = () => [...heard.values()].find((service) => service.port === port)
  t.ok(await until(() => ours() !== undefined, 5000), 'seen within 5 s')
  t.match(ours()?.id, /^gateway-[0-9a-f]{10}\._plantroom\._tcp\.local$/)
  t.match(Object.fromEntries(ours()?.text ?? []), { role: 'gateway', path: '/', version: /^\d/ })
  t.equal((await gateway.call('PATCH', '/api/system', { name: 'Boiler room' })).status, 200)
  t.ok(await until(() => ours()?.text.get('name') === 'Boiler room', 5000), 'renamed')
  await gateway.stop()
  t.ok(await until(() => ours() === undefined, 5000), 'gone')
})
