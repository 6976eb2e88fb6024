/** The controller's commands, with real state folders. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { runCommand } from '#kit/run/daemon-command.ts'
import { lockState } from '#kit/run/state-folder.ts'
import { siteCommands } from '../../assemble/commands.ts'
import { config } from '../../config.ts'
import type { Json } from '../../core/json.ts'
import { readAttribute, secretsOf } from '../../core/macros/perform.ts'
import { createMacroBook } from '../../core/macros/plan.ts'
import { simulate } from '../../core/macros/simulate.ts'
import { MACRO_LIMITS, makeArgs } from '../../core/macros/values.ts'
import type { Row } from '../../core/site/book.ts'
import { openSiteStore, type SiteStore } from '../../io/database.ts'
import { parts } from '../io/store-parts.ts'

const small = {
  site: [{ name: 'Mill' }],
  device: [{ name: 'Rack', driver: 'sim', password: 'oak door' }],
  zone: [{ name: 'Hall', device_id: 'Rack' }],
  attribute: [{ name: 'mode', system_target: 'controller', value: 'day' }],
  macro: [{ name: 'Evening' }, { name: 'Never' }],
  macro_step: [
    { macro_id: 'Evening', position: 1, type: 'condition', args: { attribute: 'mode', value: 'day' } },
    { macro_id: 'Evening', position: 2, type: 'delay', args: { ms: 60_000 } },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: references of macros are written like that
    { macro_id: 'Evening', position: 3, zone_id: 'Hall', command: 'level', args: { level: '${args.level}' } },
    {
      ...{ macro_id: 'Never', position: 1, type: 'wait' },
      args: { field: 'state', zone: 'Hall', value: 'on', timeout_ms: 1000 },
    },
  ],
  auth_user: [{ username: 'sam', password: 'engine room', sites: ['Mill'] }],
}

interface Place {
  state: string
  /** Writes a document. @returns its path */
  file(document: unknown): string
  /** @returns the output and the exit code */
  run(...argv: string[]): Promise<{ text: string; code: number | undefined }>
}

function placeOf(t: Test): Place {
  const folder = t.testdir()
  const state = join(folder, 'state')
  return {
    state,
    file(document) {
      const path = join(folder, 'site.json')
      writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document))
      return path
    },
    async run(...argv) {
      let text = ''
      const out = (more: string) => {
        text += more
      }
      const place = { name: 'controller', env: {}, schema: config, commands: siteCommands, out }
      const code = await runCommand([...argv, '--state', state, '--config', '/dev/null'], place)
      return { text, code }
    },
  }
}

async function withStore<Result>({ state }: Place, use: (store: SiteStore) => Result): Promise<Awaited<Result>> {
  const store = openSiteStore(state, systemClock, parts.store)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

const zones = (place: Place) => withStore(place, ({ book }) => book.rows('zone').map(({ name }) => name))

t.test('an import creates the first site, with passwords hashed', async (t) => {
  const place = placeOf(t)
  t.match(await place.run('import', place.file(small)), {
    code: 0,
    text: /^The 12 rows of .*site\.json are the site in/,
  })
  t.same(await zones(place), ['Hall'])
  t.match(await withStore(place, ({ book }) => book.rows('auth_user')[0]?.hash), /^\$argon2id\$/)
})

t.test('an import lists what it keeps that has no effect yet, also if it waits for Apply All', async (t) => {
  const place = placeOf(t)
  t.match((await place.run('import', place.file(small))).text, /are the site in [^\n]*\n$/, 'nothing of this one')
  const more = {
    ...small,
    schedule: [{ name: 'Dusk', kind: 'sunset', macro_id: 'Evening' }],
    device: [{ name: 'Amp', driver: 'bacnet' }],
  }
  const lines =
    /Not driven: 2 entries are kept and have no effect yet\.\n {2}device 2 "Amp": there is no driver "bacnet" yet.*\n {2}schedule 1 "Dusk": the site has no latitude and longitude, .*: it does not run\n$/
  const lock = lockState(place.state)
  const { text } = await place.run('import', place.file(more))
  lock.release()
  t.match(text, lines)
})

t.test('a second import adds; with --replace rows that the file leaves out of a table are removed', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file(small))
  const more = place.file({ zone: [{ name: 'Stairs' }] })
  t.match(await place.run('import', more), { code: 0, text: '1 change made.\n' })
  t.same(await zones(place), ['Hall', 'Stairs'])
  t.match(await place.run('import', more), { text: /nothing was changed/ })
  const onlyHall = place.file({ zone: [{ name: 'Hall', device_id: 'Rack' }] })
  t.match(await place.run('import', onlyHall, '--replace'), { code: 0, text: '1 change made.\n' })
  t.same(await zones(place), ['Hall'])
})

t.test('an import while a controller runs waits for Apply All', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file(small))
  const lock = lockState(place.state)
  t.teardown(() => lock.release())
  const answer = await place.run('import', place.file({ zone: [{ name: 'Stairs' }] }))
  t.match(answer, { code: 0, text: /The controller runs: 1 change pending/ })
  t.same(await zones(place), ['Hall'])
  t.equal(await withStore(place, ({ pending }) => pending.list().length), 1)
  await t.rejects(place.run('import', place.file({ zone: [{ name: 'Roof' }] })), { code: 'pending_waiting' })
})

t.test('an import into a running controller that nobody can sign in to is refused, with what to do', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file({ zone: [{ name: 'Hall' }] }))
  const lock = lockState(place.state)
  t.teardown(() => lock.release())
  const message = /nobody can sign in to apply what waits: stop it, import again, and start it/
  await t.rejects(place.run('import', place.file(small)), { code: 'nobody_to_apply', message })
  t.equal(await withStore(place, ({ pending }) => pending.list().length), 0)
})

t.test('an import while a controller creates its first site is refused', async (t) => {
  const place = placeOf(t)
  mkdirSync(place.state)
  const lock = lockState(place.state)
  t.teardown(() => lock.release())
  await t.rejects(place.run('import', place.file(small)), { code: 'state_locked' })
  await t.rejects(place.run('import', '/nowhere.json'), { code: 'site_unreadable' })
})

t.test('a faulty file changes nothing, and all of its faults are reported with their places', async (t) => {
  const place = placeOf(t)
  const faulty = {
    zone: [{ name: 'A', device_id: 9 }, { nam: 'B' }],
    auth_role: [{ name: 'R', rules: 'alow api query' }],
  }
  const paths = ['zone[0].device_id', 'zone[1].nam', 'zone[1].name', 'auth_role[0].rules']
  try {
    await place.run('import', place.file(faulty))
    t.fail('it was taken')
  } catch (error) {
    const { code, details } = error as { code: string; details: { faults: { path: string }[] } }
    t.equal(code, 'site_faults')
    t.same(details.faults.map(({ path }) => path).sort(), paths.sort())
  }
  await t.rejects(place.run('import', place.file('{')), { code: 'site_not_json' })
  await t.rejects(place.run('export'), { code: 'no_site' })
})

t.test(
  'an export holds hashes and no other secret, is readable only by its owner, and imports unchanged',
  async (t) => {
    const place = placeOf(t)
    await place.run('import', place.file(small))
    const { text } = await place.run('export')
    t.match(JSON.parse(text), {
      zone: [{ name: 'Hall', device_id: 1 }],
      auth_user: [{ username: 'sam', hash: /argon2id/ }],
    })
    t.notMatch(text, /oak door|engine room/)
    t.match((await place.run('export', '--secrets')).text, /oak door/)
    const path = join(place.state, '../out.json')
    t.match(await place.run('export', path), { code: 0, text: /^11 rows are in/ })
    t.equal(readFileSync(path, 'utf8'), text)
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.match(await place.run('import', path, '--replace'), { code: 0, text: /nothing was changed/ })
    const nowhere = join(place.state, '../no/such/out.json')
    await t.rejects(place.run('export', nowhere), {
      code: 'export_failed',
      message: /out\.json cannot be written \(ENOENT\)/,
    })
  },
)

t.test('a simulation prints what would be sent, and exits with 1 if the run would fail', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file(small))
  const { code, text } = await place.run('simulate', 'Evening', '--args', '{"level":30}')
  t.equal(code, 0)
  t.match(
    text,
    'Evening would send:\n    60.000 s  step 3: command {"zone_id":1,"command":"level","args":{"level":30}}\n',
  )
  t.match(text, 'It would end after 60.000 s as done.')
  t.same(await place.run('simulate', '1', '--args', '{"level":30}'), { code, text })
  t.match(await place.run('simulate', 'Never', '--late'), {
    code: 1,
    text: /would send nothing\.\nIt would end after 1\.000 s as failed/,
  })
  t.match(await place.run('simulate', 'Never'), { code: 0 })
})

t.test('a replay says whether a kept run would go the same way, and exits with 1 if not', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file(small))
  const { trace, other } = await withStore(place, async ({ book, keeper }) => {
    const macros = createMacroBook(book, MACRO_LIMITS)
    const args = makeArgs([['level', 30]], 100)
    const { trace } = simulate(macros.plan(book.row('macro', 1) as Row), args, {
      book: macros,
      attributes: { read: (ref) => readAttribute(book, ref) },
      live: { read: () => null },
      secrets: secretsOf(book),
      limits: MACRO_LIMITS,
      ...{ seed: 1, startedAt: 0, waits: 'met' },
    })
    const other = { ...trace, entries: trace.entries.map((entry) => ({ ...entry, decided: null })) }
    const row = { macro_id: 1, seed: 1, started_at: 0, ended_at: 1, result: 'done' }
    for (const kept of [trace, other, null]) await keeper.add('macro_run', { ...row, trace: kept as unknown as Json })
    return { trace, other }
  })
  t.same(await place.run('replay', '1'), { code: 0, text: 'Run 1 goes as it went: 3 steps, done.\n' })
  const then = JSON.stringify(other.entries[0])
  const now = JSON.stringify(trace.entries[0])
  t.same(await place.run('replay', '2'), {
    code: 1,
    text: `Run 2 goes another way now, from step 1 on.\n  then: ${then}\n  now:  ${now}\n`,
  })
  for (const run of ['3', '4', 'Evening']) await t.rejects(place.run('replay', run), { code: 'macro_trace' })
})

t.test('a simulation of a macro that does not exist, or with invalid args, is refused', async (t) => {
  const place = placeOf(t)
  await place.run('import', place.file(small))
  for (const name of ['Evenin', '99', '__proto__'])
    await t.rejects(place.run('simulate', name), { code: 'unknown_macro' })
  for (const args of ['{', '[]', '3', 'null'])
    await t.rejects(place.run('simulate', 'Evening', '--args', args), { code: 'macro_args' })
})
