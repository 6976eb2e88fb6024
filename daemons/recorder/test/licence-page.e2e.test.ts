/** The pages Licence and MQTT, in a browser: a recorder with a licence, and a real broker. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { admin } from './client.ts'
import { type AskedLicence, startLicenceServer, type Vendor, vendorIn } from './vendor.ts'

interface Stage extends Rig {
  work: string
  vendor: Vendor
  broker: Awaited<ReturnType<typeof startBroker>>
  /** What this installation has asked the licence server for. */
  asked: AskedLicence[]
}

const scenes: Scene<Stage>[] = [
  ['says that the server was not reached, and until when everything is allowed', pending],
  ['says who has a key, and moves it here after asking', moves],
  ['takes a lease file, and says of a wrong one why not', imports],
  ['gives the licence up after asking', givesUp],
  ['says why MQTT is not switched on, and points the recorder at a broker', mqtt],
]

const skip = noBrowser || (existsSync('/usr/sbin/mosquitto') ? false : 'needs mosquitto')

t.test('licence and MQTT on the pages', { skip }, async (t) => {
  const work = stateFolderOf(t)
  const vendor = vendorIn(work)
  const asked: AskedLicence[] = []
  const holders = [{ id: 'a', name: 'Old shop', since: 1 }]
  const url = await startLicenceServer(t, (one) => {
    asked.push(one)
    if (one.act === 'activate' && !one.move) return { status: 409, body: { code: 'no-free-seat', holders } }
    if (one.act !== 'activate') return { status: 503, body: {} }
    const more = { customer: 'Harbour shop', plan: 'Shop 8', licenseKey: '…K3', limits: { cameras: 8 } }
    return { status: 200, body: { lease: vendor.lease(one, Date.now(), more) } }
  })
  const broker = await startBroker(t)
  const keys = [`license.vendor_key_file=${vendor.keyFile}`, `license.server_url=${url}`]
  const sets = [...keys, 'storage.free_bytes=0', 'mqtt.retry_first_ms=50']
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  // What is refused is said on the page, and in the console of the browser.
  const rig = await openRig(t, recorder.url, { pictures: 'recorder', wanted: /status of (400|403|409|502)/ })
  await play<Stage>(t, { ...rig, asked, broker, vendor, work }, scenes)
})

async function pending(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Make administrator' }).click()
  await page.getByText('Footage goes to').waitFor()
  await page.evaluate(`(async () => {
    const { csrf } = await (await fetch('/api/status')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
    await fetch('/api/onboarding', { method: 'PATCH', headers, body: JSON.stringify({ step: 'complete' }) })
  })()`)
  await visit('licence')
  await page.getByText(/was not reached yet\. Everything is allowed until \d{4}-\d\d-\d\d\./).waitFor()
  await page.getByText('Any number is allowed.').waitFor()
  await audit(t, 'licence-pending')
}

async function moves(t: Test, { asked, audit, page }: Stage): Promise<void> {
  await page.getByLabel('Licence key', { exact: true }).fill('KEY-3')
  await page.getByRole('button', { name: 'Activate' }).click()
  await page.getByText(/The licence key is in use by Old shop\./).waitFor()
  await page.getByRole('button', { name: 'Move it here' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Move it here' }).click()
  await page.getByText('The recorder is licensed.').waitFor()
  t.match(asked.at(-1), { licenseKey: 'KEY-3', move: true })
  await page.getByText('8 allowed').waitFor()
  await page.getByText(/^Not included: AI agent, /).waitFor()
  await page.getByText('Harbour shop').waitFor()
  await audit(t, 'licence')
}

async function imports(t: Test, { asked, page, vendor, work }: Stage): Promise<void> {
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download request' }).click()
  t.match((await download).suggestedFilename(), /^licence-request-[0-9a-f]{8}\.json$/)
  const file = join(work, 'lease.json')
  const own = asked.at(-1) as AskedLicence
  const send = async (lease: object) => {
    writeFileSync(file, JSON.stringify(lease))
    await page.getByLabel('Lease file').setInputFiles(file)
  }
  await send(vendor.lease({ ...own, installationId: 'a'.repeat(32) }, Date.now()))
  await page.getByText(/The lease is not taken\. It is for installation a/).waitFor()
  await send(vendor.lease(own, Date.now(), { features: [], limits: { cameras: null } }))
  await page.getByText('The lease is taken.').waitFor()
  await page.getByText('It came as a file; import the next one before.').waitFor()
}

async function givesUp(t: Test, { audit, page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Give up' }).click()
  await page.getByRole('button', { name: 'Give it up' }).click()
  await page.getByText('There is no licence. Activate a licence key.').waitFor()
  await page
    .getByText(/was not told: the seat there stays taken/)
    .first()
    .waitFor()
  await audit(t, 'licence-none')
}

async function mqtt(t: Test, { asked, audit, broker, page, vendor, visit }: Stage): Promise<void> {
  await visit('mqtt')
  await page.getByText('Nothing is told over MQTT.').waitFor()
  await page.getByRole('switch', { name: 'Tell over MQTT' }).check()
  const address = page.getByLabel('Address', { exact: true })
  const save = page.getByRole('button', { name: 'Save' })
  await address.fill('http://broker')
  await save.click()
  await page.getByText(/^The address of the broker cannot be used/).waitFor()
  await address.fill(`mqtt://127.0.0.1:${broker.port}`)
  await save.click()
  await page.getByText(/The licence does not include this: MQTT\./).waitFor()
  await audit(t, 'mqtt-refused')
  const lease = vendor.lease(asked.at(-1) as AskedLicence, Date.now())
  await page.evaluate(`(async () => {
    const { csrf } = await (await fetch('/api/status')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
    await fetch('/api/license/import', { method: 'POST', headers, body: JSON.stringify({ lease: ${JSON.stringify(lease)} }) })
  })()`)
  await save.click()
  await page.getByText(`127.0.0.1:${broker.port} takes messages.`).waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The broker has the message.').waitFor()
  await audit(t, 'mqtt')
  await broker.stop()
  await page.getByText(`127.0.0.1:${broker.port} does not take messages.`).waitFor()
  broker.start()
  await until('it is back', async () => page.getByText('takes messages.', { exact: false }).first().isVisible())
}
