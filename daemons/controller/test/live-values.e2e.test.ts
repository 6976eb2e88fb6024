/** Values of the built controller: at one moment everywhere, in the history, over a kill, and sound zones. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite, type SiteOptions } from './rest-site.ts'

const MUSIC = { mcast: '239.1.1.1', port: 5004, encoding: 'L24', link_ms: 20 }
/** Zones 11 to 30 change together, with one command to their device. */
const MANY = Array.from({ length: 20 }, (_, n) => n + 11)

const rows = {
  device: [
    { id: 1, name: 'Lights', driver: 'sim' },
    { id: 2, name: 'Many', driver: 'sim' },
    { id: 3, name: 'Bar decoder', driver: 'sim' },
    { id: 4, name: 'Away', driver: 'sim', config: { absent: true } },
    { id: 5, name: 'Busy', driver: 'sim', poll_ms: 100, config: { counts: true } },
  ],
  zone: [
    { id: 1, name: 'Lamp', device_id: 1, type: 'light' },
    { id: 3, name: 'Bar', device_id: 3, type: 'av', overrides: { on: { command: 'volume', args: { volume: 99 } } } },
    { id: 4, name: 'Gone', device_id: 4, type: 'light' },
    { id: 5, name: 'Meter', device_id: 5, type: 'sensor' },
    ...MANY.map((id) => ({ id, name: `Lamp ${id}`, device_id: 2, type: 'light' })),
  ],
  attribute: [
    { id: 1, name: 'level', system_target: 'zone', target_id: 1 },
    { id: 2, name: 'state', system_target: 'zone', target_id: 1 },
    { id: 3, name: 'door', value: '0', secure: true, system_target: 'zone', target_id: 1 },
    { id: 4, name: 'level', value: '7', system_target: 'zone', target_id: 4 },
    ...MANY.map((id) => ({ id, name: 'level', system_target: 'zone', target_id: id })),
  ],
  av_source: [{ id: 1, name: 'Music', stream: MUSIC }],
  av_zone: [{ id: 1, name: 'Bar', zone_id: 3, max_volume: 60, default_volume: 20 }],
  macro: [{ id: 1, name: 'Loud' }],
  macro_step: [{ macro_id: 1, position: 1, type: 'command', zone_id: 3, command: 'volume', args: { volume: 80 } }],
  ...{ ui: [{ name: 'Ground' }, { name: 'Whole' }], ui_zone: [], ui_zone_group_ui: [], command: [] },
}

async function openSite(t: Test, options: SiteOptions = {}) {
  const site = await openRestSite(t, { rows, ...options })
  const token = await site.tokenOf('ada')
  return { site, ...callsOf(site, token) }
}

function callsOf(site: RestSite, token: string) {
  const read = async (path: string) => (await site.get(`/api/data/${path}`, token)).body
  const say = async (body: object) => (await site.post('/api/control/command', body, token)).body
  const attribute = async (id: number) => (await read(`attribute?id=${id}&_instance=true`))[0]
  return { attribute, read, say }
}

const toMany = (level: number) => ({ device_id: 2, command: 'level', args: { level } })

/** The last value of attribute 11 in the history on the disk. */
function lastOnDisk({ stateFolder }: RestSite): number {
  const database = new DatabaseSync(join(stateFolder, 'controller.db'), { readOnly: true })
  const row = database.prepare('SELECT value FROM attribute_history WHERE attribute_id = 11 ORDER BY id DESC').get()
  database.close()
  return Number(row?.value ?? 0)
}

interface Told {
  id: number
  values: Record<string, unknown>
}

/** The live socket of a signed-in page. */
async function openPage(t: Test, site: RestSite): Promise<Told[]> {
  const page = await site.pageOf('ada')
  const { ticket } = (await page('POST', '/ui/ticket')).body as { ticket: string }
  const socket = new WebSocket(`${site.url().replace('http', 'ws')}/ws?ticket=${ticket}`)
  t.teardown(() => socket.close())
  const told: Told[] = []
  socket.onmessage = ({ data }) => {
    told.push(...((JSON.parse(String(data)) as { zones?: Told[] }).zones ?? []))
  }
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onclose = reject
  })
  socket.send(JSON.stringify({ type: 'subscribe', zones: true }))
  return told
}

t.test('1 Entity rows: values that change', async (t) => {
  const { attribute, read, say, site } = await openSite(t)
  const olga = await site.tokenOf('olga')

  await t.test('a change is in the row, a filter, the live object and the socket of a page', async (t) => {
    const told = await openPage(t, site)
    for (const level of [40, 41]) {
      t.match(await say({ zone_id: 1, level }), { success: true })
      t.match(await attribute(1), { value: `${level}`, changed_at: Number, current: true })
      t.match(await read(`attribute?name=level&value=${level}`), [{ id: 1 }])
      t.match(await read('zone?id=1&_instance=true'), [
        { level, state: 'on', attributes: [{ value: `${level}` }, {}, {}] },
      ])
      await until('the page is told', () => told.some(({ id, values }) => id === 1 && values.level === level))
    }
    t.match(await attribute(1), { previous_value: '40' })
    t.match(await read('attribute_history?attribute_id=1&_orderby=id=desc&_limit=2'), [
      { value: '41' },
      { value: '40' },
    ])
  })

  await t.test('1 Guards 2: a secure value stays unseen, wherever it is now', async (t) => {
    t.match(await say({ zone_id: 1, command: 'door', args: { door: 471147114711 } }), { success: true })
    t.match(await attribute(3), { value: '471147114711' })
    for (const path of ['zone?id=1&_instance=true', 'device?id=1&_instance=true', 'attribute?name=door', 'attribute'])
      t.notMatch(JSON.stringify((await site.get(`/api/data/${path}`, olga)).body), '471147114711', path)
    t.match(await site.get('/api/data/attribute_history', olga), { status: 403 })
  })

  await t.test('a value from before the start is not current while its device is away', async (t) => {
    t.match(await attribute(4), { value: '7', current: false })
    t.match(await read('zone?id=4&_instance=true'), [
      { state: 'unknown', attributes: [{ value: '7', current: false }] },
    ])
  })

  await t.test('a device that invents names is bounded, and makes no rows', async (t) => {
    const before = (await read('attribute?_count=true')).count
    for (let n = 0; n < 70; n++) await say({ zone_id: 1, command: `invented${n}`, args: { [`invented${n}`]: n } })
    const [zone] = await read('zone?id=1&_instance=true')
    t.ok(Object.keys(zone).length < 100, `${Object.keys(zone).length} members`)
    t.equal((await read('attribute?_count=true')).count, before)
  })

  await t.test('values survive a restart, with their times', async (t) => {
    await say({ zone_id: 1, level: 42 })
    const before = await attribute(1)
    await site.restart()
    const again = callsOf(site, await site.tokenOf('ada'))
    await until('the device has said it again', async () => (await again.attribute(1)).current === true)
    t.match(await again.attribute(1), {
      value: '42',
      changed_at: before.changed_at,
      previous_value: before.previous_value,
    })
    t.match(await again.attribute(4), { value: '7', current: false })
  })
})

t.test('1 Entity rows: a kill leaves a whole history, and attributes with its last values', async (t) => {
  // A machine that is slow to write gathers more changes than one device may have at once by default.
  const { say, site } = await openSite(t, { sets: ['history.write_ms=100', 'history.device_rows=10000'] })
  let calls = say
  let last = 0
  for (const [round, many] of [20, 35, 50].entries()) {
    // Each value is one more than the one before: a hole or a half would show.
    for (let n = 0; n < many; n++) await calls(toMany(++last))
    await until('most of it is on the disk', () => lastOnDisk(site) > last - many / 2)
    await site.stop('SIGKILL')
    await site.start()
    const { attribute, read, say: again } = callsOf(site, await site.tokenOf('ada'))
    const kept = await read('attribute_history?attribute_id=11&_orderby=id&_limit=1000')
    const values = kept.map(({ value }: { value: string }) => Number(value))
    const steps = values.map((value: number, at: number) => value - (values[at - 1] ?? value - 1))
    t.ok(steps.filter((step: number) => step !== 1).length <= round, `${values}`)
    t.equal(Number((await attribute(11)).value), values.at(-1))
    last = values.at(-1)
    calls = again
  }
})

t.test('the history on the disk is bounded, and a device that floods keeps its last value', async (t) => {
  const sets = ['history.write_ms=100', 'history.most_rows=1000', 'history.device_rows=100', 'history.batch_rows=50']
  const { attribute, read, say } = await openSite(t, { sets })
  const size = async () => (await read('attribute_history?_count=true')).count
  let level = 0
  await until('it is full', async () => {
    for (let n = 0; n < 10; n++) await say(toMany(++level % 100))
    return (await size()) >= 1000
  })
  for (let n = 0; n < 60; n++) await say(toMany(++level % 100))
  await until('what is too much has gone', async () => (await size()) <= 1000)
  for (const id of [11, 30]) {
    const value = String(level % 100)
    t.match(await attribute(id), { value })
    await until('the last value is kept', async () => {
      const [row] = await read(`attribute_history?attribute_id=${id}&_orderby=id=desc&_limit=1`)
      return row?.value === value
    })
  }
})

t.test('1 POST /api/control/command: a sound zone', async (t) => {
  const { read, say, site } = await openSite(t)
  const av = async () => (await read('av_zone?id=1&_instance=true'))[0]
  await until('it is online', async () => (await av()).state === 'stopped')
  t.match(await av(), { source_id: null, volume: 30, device_state: 'online' })
  t.match(await say({ zone_id: 3, source: 'Music' }), { success: true, answer: { source_id: 1 } })
  t.match(await av(), { source_id: 1, volume: 20, mute: false, state: 'playing' })
  t.match(await read('zone?id=3&_instance=true'), [{ mcast: MUSIC.mcast, port: MUSIC.port, volume: 20 }])
  t.match(await say({ zone_id: 3, mute: true }), { success: true })
  t.match(await av(), { mute: true })
  for (const body of [{ volume: 61 }, { command: 'on' }, { command: 'volume_db', args: { volume_db: 0 } }])
    t.match(await say({ zone_id: 3, ...body }), { error: 'invalid args' }, JSON.stringify(body))
  const run = await site.post('/api/control/macro', { macro: 'Loud' }, await site.tokenOf('ada'))
  t.match(run.body, { success: false })
  t.equal((await av()).volume, 20)
  t.match(await say({ zone_id: 3, command: 'all_off' }), { success: true, answer: { off: [3] } })
  t.match(await av(), { source_id: null, state: 'stopped' })
})
