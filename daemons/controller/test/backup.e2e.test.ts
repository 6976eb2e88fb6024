/** A controller is backed up over its page, wiped, and restored; whatever is no good backup changes nothing. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { tables } from '../core/site/registry.ts'
import { SETS } from './operating.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD, rowsOfOtherTables } from './rest-site-rows.ts'

/** Where a controller listens: it may have been restarted. */
type Place = () => string

/** Calls of the page, as a browser with a session makes them. */
async function browserOf(place: Place, username: string, password: string) {
  const send = (method: string, path: string, body?: unknown, cookie = '') =>
    ask(place() + path, {
      method,
      headers: {
        ...{ origin: place(), cookie },
        ...(body === undefined
          ? {}
          : { 'content-type': body instanceof Buffer ? 'application/gzip' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body) }),
    })
  const { headers } = await send('POST', '/ui/sign-in', { username, password })
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return {
    call: (method: string, path: string, body?: unknown) => send(method, path, body, cookie),
    async file(): Promise<Buffer> {
      const reply = await fetch(`${place()}/ui/backup/file`, { headers: { cookie } })
      if (reply.status !== 200) throw new Error(`no backup: ${await reply.text()}`)
      return Buffer.from(await reply.arrayBuffer())
    },
  }
}

type Browser = Awaited<ReturnType<typeof browserOf>>

async function backupOf({ call, file }: Browser): Promise<Buffer> {
  await call('POST', '/ui/backup', {})
  await until('the backup is made', async () => {
    const { state, failed } = (await call('GET', '/ui/backup')).body
    if (failed !== null) throw new Error(failed)
    return state === 'made'
  })
  return await file()
}

async function tokenOf(place: Place): Promise<string | undefined> {
  const body = JSON.stringify({ username: 'ada', password: PASSWORD })
  const answer = await ask(`${place()}/api/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  }).catch(() => undefined)
  return answer?.body.token
}

/** What an elevated session reads of every table. @param lastCall the audit up to here: reading it adds to it */
async function readAll(place: Place, lastCall: number): Promise<Record<string, unknown[]>> {
  const headers = { authorization: `Bearer ${await tokenOf(place)}` }
  const all: Record<string, unknown[]> = {}
  for (const { name } of tables()) {
    const upTo = name === 'request_history' ? `&_lte[id]=${lastCall}` : ''
    all[name] = (await ask(`${place()}/api/data/${name}?_limit=10000${upTo}`, { headers })).body
  }
  return all
}

/** How many calls the audit has. */
function callsIn(folder: string): number {
  const audit = new DatabaseSync(join(folder, 'audit.db'), { readOnly: true })
  try {
    return Number(audit.prepare('SELECT max(id) AS n FROM request_history').get()?.n)
  } finally {
    audit.close()
  }
}

function kept(folder: string, sql: string): unknown {
  const database = new DatabaseSync(join(folder, 'controller.db'), { readOnly: true })
  try {
    return Object.values(database.prepare(sql).get() ?? {})[0]
  } finally {
    database.close()
  }
}

/** What a state has beside its tables: an own definition of a device, and the picture of a floor plan. */
const FILES = ['definitions/own.json', `plans/${'ab'.repeat(32)}.png`] as const
const DEFINITION = join(import.meta.dirname, '../../../kit/device/definitions/extron-sis-switcher.json')

/** A controller with every table filled, and a backup of it. */
async function filled(t: Test) {
  const site = await openRestSite(t, { rows: rowsOfOtherTables })
  const ada = await site.tokenOf('ada')
  await site.post('/api/control/macro', { macro_id: 1 }, ada)
  await site.post('/api/control/command', { zone: 'Lamp', level: 55 }, ada)
  await site.stage({ device: [{ name: 'Line', password: 'hush8', model: 'X1' }] })
  await site.stop()
  // No part of the controller writes this table yet.
  const database = new DatabaseSync(join(site.stateFolder, 'controller.db'))
  database.exec(
    "INSERT INTO mail_queue (id, created_at, updated_at, recipient, subject, body) VALUES (1, 1, 1, 'a@b', 's', 'hush9')",
  )
  database.close()
  for (const path of FILES) mkdirSync(dirname(join(site.stateFolder, path)), { recursive: true })
  copyFileSync(DEFINITION, join(site.stateFolder, FILES[0]))
  writeFileSync(join(site.stateFolder, FILES[1]), 'a picture')
  await site.start()
  const browser = await browserOf(site.url, 'ada', PASSWORD)
  const lastCall = callsIn(site.stateFolder)
  return { site, browser, file: await backupOf(browser), lastCall }
}

async function fresh(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'fresh-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  let daemon = await startDaemon(t, 'controller', { stateFolder: folder, sets: SETS })
  const place = () => daemon.url
  await ask(`${place()}/ui/setup`, {
    method: 'POST',
    headers: { origin: place(), 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'eve', password: 'another long one', site: 'Bare' }),
  })
  return {
    folder,
    place,
    stop: (signal?: NodeJS.Signals) => daemon.stop(signal),
    async start() {
      daemon = await startDaemon(t, 'controller', { stateFolder: folder, sets: SETS })
    },
    browser: await browserOf(place, 'eve', 'another long one'),
  }
}

/** Waits for the run of the controller that has the restored state. */
async function restarted(place: Place): Promise<void> {
  await until('the restored accounts sign in', async () => (await tokenOf(place)) !== undefined)
}

const { site, browser, file, lastCall } = await filled(t as unknown as Test)
const before = await readAll(site.url, lastCall)

t.test('the file has every table, and no secret of another machine', async (t) => {
  for (const { name } of tables())
    if (name !== 'history_mark') t.ok((before[name]?.length ?? 0) > 0, `${name} has a row`)
  const text = gunzipSync(file).toString('latin1')
  t.notMatch(text, /hush\d|lamp word/)
  t.match(text, /argon2id/, 'people can sign in with it')
  t.match(kept(site.stateFolder, "SELECT password FROM device WHERE name = 'Lights'"), 'lamp word')
})

t.test('wiped and restored, every table is as it was', async (t) => {
  const box = await fresh(t)
  t.match(await box.browser.call('POST', '/ui/backup/file', file), {
    status: 200,
    body: { state: 'checked', name: 'Bare', backup: { site: 'House', all_secrets: false } },
  })
  t.match(await box.browser.call('POST', '/ui/backup/restore', { name: 'House' }), {
    status: 400,
    body: { fields: [{ field: 'name' }] },
  })
  t.match(await box.browser.call('POST', '/ui/backup/restore', { name: 'Bare' }), { status: 200 })
  await restarted(box.place)
  const after = await readAll(box.place, lastCall)
  for (const { name } of tables()) t.same(after[name], before[name], name)
  for (const path of FILES)
    t.same(readFileSync(join(box.folder, path)), readFileSync(join(site.stateFolder, path)), path)
  t.equal(kept(box.folder, "SELECT password FROM device WHERE name = 'Lights'"), null, 'a new machine is told anew')

  const again = await browserOf(box.place, 'ada', PASSWORD)
  t.match((await again.call('GET', '/ui/backup')).body, { state: 'idle', former: { by: 'eve', what: 'backup' } })
  t.match(await again.call('POST', '/ui/backup/undo', { name: 'House' }), { status: 200 })
  await until('the former account signs in', async () => {
    const { call } = await browserOf(box.place, 'eve', 'another long one').catch(() => ({ call: undefined }))
    return (await call?.('GET', '/ui/me').catch(() => undefined))?.body.username === 'eve'
  })
})

t.test('a power cut after the decision leaves all of the backup', async (t) => {
  const box = await fresh(t)
  await box.browser.call('POST', '/ui/backup/file', file)
  t.match(await box.browser.call('POST', '/ui/backup/restore', { name: 'Bare' }), { status: 200 })
  await box.stop('SIGKILL')
  await box.start()
  await restarted(box.place)
  const after = await readAll(box.place, lastCall)
  for (const { name } of tables()) t.same(after[name], before[name], name)
})

t.test('whatever is no good backup is refused whole, and changes nothing', async (t) => {
  const state = () => readAll(site.url, lastCall)
  const refused = async (bytes: Buffer, what: string) => {
    const answer = await browser.call('POST', '/ui/backup/file', bytes)
    t.match(
      answer,
      { status: 400, body: { error: 'bad_backup', message: /^This file is not restored, and nothing/ } },
      what,
    )
    t.match((await browser.call('GET', '/ui/backup')).body, { state: 'idle', backup: null }, what)
  }
  for (let n = 0; n < 20; n++) {
    const at = Math.floor(Math.random() * file.length)
    const changed = Buffer.from(file)
    changed[at] = (changed[at] ?? 0) ^ (1 << (n % 8))
    await refused(changed, `bit ${n % 8} of byte ${at} of ${file.length}`)
    await refused(file.subarray(0, at), `the first ${at} of ${file.length} bytes`)
  }
  await refused(Buffer.from('no backup at all'), 'a text')
  await refused(Buffer.alloc(0), 'nothing')
  t.same(await state(), before)
  t.match(await browser.call('POST', '/ui/backup/restore', { name: 'House' }), { status: 409 })
})

t.test('restored on the same machine, it keeps the secrets that are here', async (t) => {
  await browser.call('POST', '/ui/backup/file', file)
  const { pid } = { pid: site.pid() }
  t.match(await browser.call('POST', '/ui/backup/restore', { name: 'House' }), { status: 200 })
  await until('it is another run', () => /starting anew reason=restore/.test(site.output()))
  await restarted(site.url)
  t.equal(site.pid(), pid)
  const secrets = {
    "SELECT password FROM device WHERE name = 'Lights'": 'lamp word',
    "SELECT config FROM device WHERE name = 'Lights'": /"password":"x"/,
    'SELECT secret FROM web_service': 'hush5',
    'SELECT headers FROM web_service': /"x-token":"hush3"/,
    'SELECT private_key FROM credential': 'k',
  }
  for (const [sql, secret] of Object.entries(secrets)) t.match(kept(site.stateFolder, sql), secret, sql)
  const { body } = await (await browserOf(site.url, 'ada', PASSWORD)).call('GET', '/ui/backup')
  t.match(body, { former: { by: 'ada' } })
})
