/** The MQTT broker on the page System: it is there, is tried, goes away and comes back. */
import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { startGateway } from './running-gateway.ts'

interface Stage extends Rig {
  broker: Awaited<ReturnType<typeof startBroker>>
  /** What came to the topic of tests. */
  tests: [topic: string, text: string][]
}

const skip = existsSync('/usr/sbin/mosquitto') ? noBrowser : 'needs mosquitto'

t.test('the broker on the page', { skip }, async (t) => {
  const broker = await startBroker(t)
  const sets = ['mqtt.topic_prefix=house', 'mqtt.retry_first_ms=100', 'mqtt.retry_max_ms=500']
  const gateway = await startGateway(t, { sets: [`mqtt.url=mqtt://127.0.0.1:${broker.port}`, ...sets] })
  const token = await gateway.setUp()
  const { heard: tests } = await broker.devices(['house/test'])
  const rig = await openRig(t, gateway.url, { token })
  await play<Stage>(t, { ...rig, broker, tests }, scenes)
})

const scenes: Scene<Stage>[] = [
  ['is there, and a test arrives', isThere],
  ['is away and back', isAway],
]

async function isThere(t: Test, { audit, page, tests, visit }: Stage): Promise<void> {
  await visit('system')
  await page.getByText(/127\.0\.0\.1:\d+ takes messages/).waitFor()
  await page.getByText('house/…').waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText(/The broker had a message to house\/test after/).waitFor()
  await until('it came', () => tests.length === 1)
  await audit(t, 'system-mqtt', 'unpictured')
}

async function isAway(_t: Test, { broker, page }: Stage): Promise<void> {
  await broker.stop()
  await page.getByText(/127\.0\.0\.1:\d+ is away since/).waitFor()
  await page.getByText(/It is tried again/).waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.locator('.toast', { hasText: '127.0.0.1' }).waitFor()
  broker.start()
  await page.getByText(/127\.0\.0\.1:\d+ takes messages/).waitFor()
}
