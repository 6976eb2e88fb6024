/** The built controller on a full disk: nothing that must be recorded is reported as done without its record. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'
import { noSmallDisk, onSmallDisk } from './small-disk.ts'

/** The file that fills the disk, as the daemon sees it. */
const fillerOf = (site: RestSite) => join(`/proc/${site.pid()}/root`, site.stateFolder, 'filler')

function fill(site: RestSite): void {
  for (let bytes = 1 << 20; bytes >= 512; bytes = Math.floor(bytes / 2))
    for (let isRoom = true; isRoom; ) isRoom = append(fillerOf(site), bytes)
}

function append(file: string, bytes: number): boolean {
  try {
    writeFileSync(file, new Uint8Array(bytes), { flag: 'a' })
    return true
  } catch {
    return false
  }
}

const notDone = { status: 500, body: { error: 'audit_unavailable', message: /was not carried out/ } }
const notRecorded = { status: 500, body: { error: 'audit_unavailable', message: /was carried out, but its record/ } }

t.test('1 Audit record: a disk that is full', { skip: noSmallDisk() }, async (t) => {
  const sets = ['audit.record_ms=300', 'audit.retry_ms=50', 'audit.retry_max_ms=50']
  const site = await openRestSite(t, {
    sets,
    within: onSmallDisk,
  })
  const [olga, leaves] = [await site.tokenOf('olga'), await site.tokenOf('nora')]
  const [page, another] = [await site.pageOf('olga'), await site.pageOf('nora')]
  let count = 0
  /** Each command sends its own number to the device. */
  const command = async () => {
    const n = ++count
    return { n, told: await site.post('/api/control/command', { zone_id: 1, command: 'level', args: { n } }, olga) }
  }
  const heard = (n: number) => site.lines.filter((line) => line === `Z1 level {"n":${n}}`).length
  const done: Told[] = []
  let late: { n: number; told: Told } | undefined

  await t.test('1 Audit record: a command whose record does not reach the disk is not a success', async (t) => {
    done.push((await command()).told)
    t.match(done, [{ status: 200, body: { success: true } }])
    fill(site)
    // The audit file still records what it has room for.
    await until('the disk takes no record', async () => {
      const each = await command()
      if (each.told.status === 200) done.push(each.told)
      else late = each
      return late !== undefined
    })
    t.match(late?.told, notRecorded)
    t.match(site.output(), /audit_failing/)
    t.match(site.output(), /audit_late/)
  })

  const refused: Told[] = []
  await t.test('1 POST /api/control, POST /api/token: nothing is begun while nothing can be recorded', async (t) => {
    await until('the commands carried out have arrived', () => heard(late?.n ?? 0) > 0)
    const from = site.lines.length
    const each = await command()
    refused.push(each.told)
    refused.push(await site.post('/api/control/macro', { macro_id: 1 }, olga))
    refused.push(await site.post('/api/token', { username: 'olga', password: PASSWORD }))
    refused.push(await site.post('/api/token', { username: 'tara', password: PASSWORD }))
    refused.push(await page('POST', '/ui/command', { zone_id: 1, command: 'level', args: { n: each.n } }))
    refused.push(await page('POST', '/ui/macro', { macro_id: 1 }))
    refused.push(await page('POST', '/ui/sign-in', { username: 'olga', password: PASSWORD }))
    for (const told of refused) t.match(told, notDone)
    for (const told of refused) t.strictSame(Object.keys(told.body).sort(), ['error', 'message'])
    t.same(refused.at(-1)?.headers.getSetCookie(), [], 'nobody can sign in to the page')
    t.equal(heard(each.n), 0)
    t.equal(site.lines.length, from, 'no driver was reached')
  })

  await t.test('1 Endpoints: reads and sign-outs still work', async (t) => {
    t.equal((await site.get('/api/health')).status, 200)
    t.match((await site.get('/api/me', olga)).body, { username: 'olga' })
    t.match((await site.get('/api/data/zone?id=1', olga)).body, [{ name: 'Hall' }])
    t.match((await site.post('/api/logout', undefined, leaves)).body, { success: true })
    t.equal((await site.get('/api/me', leaves)).status, 401)
    t.equal((await page('GET', '/ui/zones')).status, 200)
    t.equal((await page('POST', '/ui/ticket')).status, 200, 'an open page still gets events')
    t.match((await page('POST', '/ui/handoff')).body, { signed_in: false }, 'and a page can be opened')
    t.match(await another('POST', '/ui/sign-out'), { status: 200, body: { success: true } })
    t.equal((await another('GET', '/ui/me')).status, 401)
  })

  await t.test(
    '1 Audit record: with room again waiting records are written, once each, and work continues',
    async (t) => {
      rmSync(fillerOf(site))
      await until('commands are taken', async () => {
        const { told } = await command()
        return told.status === 200 && done.push(told) > 0
      })
      t.match(site.output(), /audit_written_again/)
      const ada = await site.tokenOf('ada')
      const recordsOf = async ({ from }: Told) =>
        (await site.get(`/api/data/request_history?client_ip=${from}`, ada)).body
      for (const told of done) {
        t.match(await recordsOf(told), [{ granted: true, status: 200, username: 'olga' }])
        t.equal((await recordsOf(told)).length, 1)
      }
      if (late) t.match(await recordsOf(late.told), [{ granted: true, target: 'zone 1', username: 'olga' }])
      for (const told of refused) {
        t.match(await recordsOf(told), [{ granted: false, status: 500 }])
        t.equal((await recordsOf(told)).length, 1)
      }
      t.equal(heard(late?.n ?? 0), 1, 'each command was carried out once')
    },
  )
})
