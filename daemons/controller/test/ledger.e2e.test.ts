/** The ledger of the real controller: a device that is stopped and a macro that fails, in its API, its log, a mail, a page. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { freePort } from '#kit/test/free-port.ts'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { PASSWORD, plantroom, SETS } from './operating.ts'

const port = await freePort()
const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const site = {
  site: [{ name: 'Mill' }],
  device: [{ name: 'Rack', driver: 'tcp', transport: { host: '127.0.0.1', port } }],
  zone: [{ name: 'Hall', device_id: 'Rack', address: 'hall' }],
  macro: [{ name: 'Evening' }],
  macro_step: [{ macro_id: 'Evening', position: 1, type: 'command', command: 'off', args: { zone: 'Hall' } }],
  auth_role: [
    { name: 'Administrator', elevated: true, rules: ['allow api *', 'allow ui *'] },
    { name: 'User', rules: ['allow api *', 'allow ui *'] },
  ],
  auth_user: [
    { username: 'ada', password: PASSWORD, roles: ['Administrator'], sites: ['Mill'] },
    { username: 'ben', password: PASSWORD, roles: ['User'], sites: ['Mill'] },
  ],
}
const file = join(folder, 'site.json')
writeFileSync(file, JSON.stringify(site))

const stateFolder = join(folder, 'state')
const imported = await plantroom(['controller', 'import', file, '--state', stateFolder])
if (imported.code !== 0) throw new Error(imported.said)
const controller = await startDaemon(t, 'controller', {
  sets: [...SETS, 'ledger.hold_ms=200', 'drivers.retry_first_ms=100', 'drivers.retry_max_ms=1000'],
  stateFolder,
})

/** A call of the page with its cookie. */
function caller(cookie: string) {
  return (method: string, path: string, body?: unknown) =>
    ask(controller.url + path, {
      method,
      headers: { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
}

async function signedIn(username: string) {
  const body = JSON.stringify({ username, password: PASSWORD })
  const headers = { 'content-type': 'application/json' }
  const answer = await ask(`${controller.url}/ui/sign-in`, { method: 'POST', headers, body })
  return caller((answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '')
}

const ada = await signedIn('ada')

async function list(query = ''): Promise<LedgerEntry[]> {
  return (await ada('GET', `/ui/ledger?${query}`)).body.entries
}

/** The device: takes lines, and lets everybody go when it is stopped. */
async function startDevice(): Promise<() => Promise<void>> {
  const sockets = new Set<{ destroy(): void }>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).resume()
  })
  server.listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

const on = () => ada('POST', '/ui/command', { zone: 'Hall', command: 'on' })

t.test('a device that is stopped is an entry until it answers again', async (t) => {
  let stop = await startDevice()
  t.match(await on(), { status: 200, body: { success: true } })
  t.same(await list(), [])
  await stop()
  await until('the device is offline', async () => {
    await on()
    return (await list('open=true')).length === 1
  })
  const [entry] = await list('open=true')
  t.match(entry, { what: 'device_offline', where: 'device 1 Rack', severity: 'fault', until: null })
  t.match((await ada('POST', '/ui/ledger/acknowledge', { id: entry?.id })).body, { acknowledgedBy: 'ada' })
  t.match(await ada('POST', '/ui/ledger/acknowledge', { id: 9999 }), { status: 404, body: { error: 'unknown_entry' } })
  // What was refused is written after its answer.
  const rows = async () => (await ada('GET', '/ui/audit?path=acknowledge')).body.rows
  await until('both are in the audit', async () => (await rows()).length === 2)
  t.match(await rows(), [{}, { username: 'ada', target: `ledger ${entry?.id}` }])

  t.match((await ada('POST', '/ui/macro', { macro: 'Evening' })).status, 200)
  await until('the failed run is told', async () => (await list('what=macro_failed')).length === 1)
  t.match(await list('what=macro_failed'), [{ where: 'macro 1 Evening', ended: 'momentary', count: 1 }])

  stop = await startDevice()
  await until('the device is back', async () => {
    await on()
    return (await list('open=true')).length === 0
  })
  t.match(await list('what=device_offline'), [{ ended: 'cleared', acknowledgedBy: 'ada' }])
  await until('the log has the end', () =>
    /condition ended what=device_offline .*durationMs=/.test(controller.output()),
  )
  t.match((await ada('GET', '/ui/ledger/export')).body, /^id,severity,what,.*\r\n/)
  await stop()
})

t.test('without elevation nobody sees the ledger, and the REST surface has none of it', async (t) => {
  const ben = await signedIn('ben')
  t.match(await ben('GET', '/ui/ledger'), { status: 403, body: { error: 'not_elevated' } })
  t.match(await ben('POST', '/ui/ledger/acknowledge', { id: 1 }), { status: 403 })
  t.match(await caller('')('GET', '/ui/ledger'), { status: 401 })
})

t.test('the page shows what was wrong', { skip: noBrowser }, async (t) => {
  const { audit, complaints, page, visit } = await openRig(t, controller.url, { pictures: 'controller' })
  await page.getByLabel('User name').fill('ada')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Audit' }).first().waitFor()
  await visit('today')
  await page.locator('.ledger tr', { hasText: 'device 1 Rack' }).first().waitFor()
  await page.locator('.ledger tr', { hasText: 'ada, ' }).waitFor()
  await audit(t, 'today')
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  t.match((await saving).suggestedFilename(), /^ledger-.*\.csv$/)
  t.same(complaints, [])
})
