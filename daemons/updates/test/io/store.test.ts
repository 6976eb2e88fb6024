/** The contract of a store: one suite for the file of one daemon, and for the database of several. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Fault } from '#kit/pure/fault.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { until } from '#kit/test/until.ts'
import type { UpdatesConfig } from '../../config.ts'
import type { ArtifactRecord, InstallationRecord } from '../../core/ports.ts'
import type { UpdatesStore } from '../../io/store.ts'
import { delta, file, installation, release } from '../core/records.ts'
import { noPostgres, PASSWORD, startPostgres } from '../peer/postgres.ts'
import { cuttingProxy, followers, opened, selfSigned, storeStage } from '../store-stage.ts'

const tls = selfSigned(t)
const postgres = noPostgres ? undefined : await startPostgres(t, { cert: tls.cert, key: tls.key })

const artifact: ArtifactRecord = {
  ...{ type: 'command_set', filename: 'a.json', name: 'A', description: '', version: '', tags: ['x'], user: 'admin' },
  ...{ rating: null, sizeBytes: 1, modifiedAt: 1, file: 'f', checksum: 'c' },
}
/** Where daemons share a database, each reads its password from a file. */
function stageOf(t: Test, url: string, more: Partial<UpdatesConfig['store']> = {}) {
  const password = { password_file: url === '' ? '' : (postgres?.passwordFile ?? '') }
  // On a busy machine a database answers late; tests of what is too late say what that is.
  return storeStage(t, url, { ...password, connect_ms: 30_000, answer_ms: 30_000, ...more })
}

const session = { hash: 'h', username: 'admin', password: 'p', beganAt: 1 }
const claim = { file: 'f', daemon: 'd', beganAt: 1 }

const save = (store: UpdatesStore, ...changed: InstallationRecord[]) =>
  store.keeper.inTurn(() => store.keeper.saveInstallations({ changed, removed: [] }))

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  const skip = kind === 'PostgreSQL' && noPostgres
  const newUrl = () => (kind === 'SQLite' ? '' : (postgres?.newUrl() ?? ''))

  t.test(
    `${kind}: what was saved is there again, the newest of each, and what was removed is not`,
    { skip },
    async (t) => {
      const stage = await stageOf(t, newUrl())
      const store = await stage.open()
      await store.follow(followers())
      const { inTurn, ...keeper } = store.keeper
      const [one, other] = [installation({ id: '1', registeredAt: 2 }), installation({ id: '2' })]
      await inTurn(() => keeper.saveInstallations({ changed: [one, other], removed: [] }))
      await inTurn(() => keeper.saveInstallations({ changed: [{ ...one, name: 'Roof' }], removed: ['2'] }))
      await inTurn(() => keeper.saveClaims({ changed: [claim, { ...claim, file: 'g' }], removed: [] }))
      const releases = [release('1.0.0', { installer: file() }), release('2.0.0', { update: null })]
      await inTurn(() => keeper.saveReleases({ changed: releases, removed: [] }, 'g'))
      await inTurn(() => keeper.saveReleases({ changed: [], removed: ['2.0.0'] }))
      const others = [delta('1.0.0', '0.9.0'), delta('1.0.0', '0.8.0')]
      await inTurn(() => keeper.saveClaims({ changed: [{ ...claim, file: 'h' }], removed: [] }))
      await inTurn(() => keeper.saveDeltas({ changed: others, removed: [] }, 'h'))
      await inTurn(() => keeper.saveDeltas({ changed: [], removed: ['1.0.0 0.8.0'] }))
      await inTurn(() => keeper.saveArtifact(artifact))
      await inTurn(() => keeper.saveArtifact({ ...artifact, filename: 'b.json' }))
      await inTurn(() => keeper.removeArtifact({ type: 'command_set', filename: 'b.json' }))
      await inTurn(() => keeper.saveSessions({ changed: [session], removed: ['none'] }))
      await store.close()
      const { daemon, stored } = await stage.open()
      t.same(stored, {
        ...{ installation: [{ ...one, name: 'Roof' }], release: [release('1.0.0', { installer: file() })] },
        ...{ delta: [delta('1.0.0', '0.9.0')], artifact: [artifact], session: [session], claim: [claim] },
      })
      t.equal(daemon, store.daemon, 'its name is the same')
    },
  )

  t.test(`${kind}: names and texts are kept as they are, whatever stands in them`, { skip }, async (t) => {
    const stage = await stageOf(t, newUrl())
    const store = await stage.open()
    await store.follow(followers())
    const hostile = [
      `'; DROP TABLE plantroom_updates_record; --`,
      '\u0000\u0001\ud800',
      '$1',
      '{"a":1}',
      '🏢 Größe',
      'x'.repeat(5000),
    ]
    await save(store, ...hostile.map((name, at) => installation({ id: String(at), name })))
    await store.close()
    t.same(
      (await stage.open()).stored.installation.map(({ name }) => name),
      hostile,
    )
  })

  t.test(
    `${kind}: changes come one after another, and one that fails leaves nothing and keeps nobody from the next`,
    { skip },
    async (t) => {
      const stage = await stageOf(t, newUrl())
      const store = await stage.open()
      await store.follow(followers())
      const order: string[] = []
      const long = store.keeper.inTurn(async () => {
        order.push('first begins')
        await new Promise((resolve) => setImmediate(resolve))
        order.push('first fails')
        throw new Error('refused')
      })
      const next = store.keeper.inTurn(async () => {
        order.push('second')
        await store.keeper.saveInstallations({ changed: [installation({ id: '2' })], removed: [] })
        return 'its result'
      })
      await t.rejects(long, /refused/)
      t.equal(await next, 'its result')
      t.same(order, ['first begins', 'first fails', 'second'])
      await store.keeper.inTurn(async () => {})
      await store.close()
      t.equal((await stage.open()).stored.installation.length, 1)
    },
  )

  t.test(`${kind}: keys of archives are sealed, and open with no other key`, { skip }, async (t) => {
    const url = newUrl()
    const stage = await stageOf(t, url)
    const store = await stage.open()
    await store.follow(followers())
    const key = '0123456789abcdef'.repeat(4)
    const update = { ...file(), encryptionKey: key }
    await store.keeper.inTurn(() => store.keeper.saveReleases({ changed: [release('1.0.0', { update })], removed: [] }))
    await store.close()
    t.match((await stage.open()).stored.release, [{ update: { encryptionKey: key } }])
    mkdirSync(join(stage.folder, 'other'))
    await t.rejects(stage.open('', await openSeal(join(stage.folder, 'other'))), { code: 'seal_broken' })
    if (url !== '') t.notMatch(postgres?.sql(url, 'SELECT record FROM plantroom_updates_record'), key)
  })

  t.test(`${kind}: more than a page at once is written and read`, { skip }, async (t) => {
    const stage = await stageOf(t, newUrl())
    const store = await stage.open()
    await store.follow(followers())
    const many = Array.from({ length: 1203 }, (_, at) =>
      installation({ id: String(at).padStart(4, '0'), registeredAt: at }),
    )
    await save(store, ...many)
    await store.close()
    t.same(
      (await stage.open()).stored.installation.map(({ id }) => id),
      many.map(({ id }) => id),
    )
  })
}

// What several daemons on one database see of each other.

t.test(
  'each follows what the others write, in their order, and what it wrote itself is not told to it',
  { skip: noPostgres },
  async (t) => {
    const stage = await stageOf(t, postgres?.newUrl() ?? '')
    const [one, other] = [await opened(stage, 'one'), await opened(stage, 'other')]
    await save(one.store, installation({ id: '1', name: 'Roof' }))
    await one.store.keeper.inTurn(() => one.store.keeper.saveArtifact(artifact))
    await one.store.keeper.inTurn(() => one.store.keeper.removeArtifact(artifact))
    await other.store.refresh()
    t.match([other.told[0], other.told.at(-1)], ['installation Roof', 'artifact -command_set/a.json'])
    const known = other.told.length
    await save(other.store, installation({ id: '2', name: 'Cellar' }))
    await until('the database tells it', () => one.told.length > 0)
    t.same(one.told, ['installation Cellar'])
    t.equal(other.told.length, known)
    t.not(one.store.daemon, other.store.daemon)
  },
)

t.test(
  'a change knows what others wrote before it, and no two are under way at once',
  { skip: noPostgres },
  async (t) => {
    const stage = await stageOf(t, postgres?.newUrl() ?? '', { follow_ms: 600_000 })
    const daemons = await Promise.all(['one', 'two', 'three'].map((name) => opened(stage, name)))
    let underWay = 0
    const most: number[] = []
    /** The number in memory of each, counted up by all of them. */
    const counts = daemons.map(() => 0)
    const count = async (at: number) => {
      const { store, told } = daemons[at] as (typeof daemons)[number]
      await store.keeper.inTurn(async () => {
        most.push(++underWay)
        for (const line of told.splice(0)) counts[at] = Number(line.split(' ')[1])
        const next = (counts[at] ?? 0) + 1
        await new Promise((resolve) => setImmediate(resolve))
        underWay--
        await store.keeper.saveInstallations({ changed: [installation({ id: '1', name: String(next) })], removed: [] })
        counts[at] = next
      })
    }
    await Promise.all(Array.from({ length: 60 }, (_, at) => count(at % 3)))
    t.equal(Math.max(...counts), 60)
    t.equal(Math.max(...most), 1)
  },
)

t.test(
  'of two that start at once on a new database, one makes it, and the other one waits',
  { skip: noPostgres },
  async (t) => {
    const stage = await stageOf(t, postgres?.newUrl() ?? '')
    const made: string[] = []
    const start = async (name: string) => {
      const store = await stage.open(name)
      const document = store.documents?.open({ name: 'users', check: String, onChange: () => {} })
      if (document?.value === undefined) {
        made.push(name)
        await document?.save(`of ${name}`)
      }
      await store.follow(followers())
      return document?.value ?? `of ${name}`
    }
    const [one, other] = await Promise.all([start('one'), start('other')])
    t.same([made.length, one === other], [1, true])
  },
)

t.test(
  'what one saves as a document, the others know; changes of the start are told when it is ready',
  { skip: noPostgres },
  async (t) => {
    const stage = await stageOf(t, postgres?.newUrl() ?? '')
    const one = await opened(stage, 'one')
    const late = await stage.open('late')
    const heard: string[] = []
    const document = late.documents?.open({ name: 'key', check: String, onChange: (value) => heard.push(value) })
    t.equal(document?.value, undefined)
    await one.store.documents?.open({ name: 'key', check: String, onChange: () => {} }).save('new')
    await save(late, installation({ id: '9' }))
    t.same(heard, [], 'not ready yet')
    await late.follow(followers())
    t.same(heard, ['new'])
  },
)

t.test(
  'a database that goes away is told once, refuses changes with a sentence, and is found again',
  { skip: noPostgres, timeout: 60_000 },
  async (t) => {
    const own = postgres as NonNullable<typeof postgres>
    const stage = await stageOf(t, own.newUrl(), { retry_first_ms: 10, retry_max_ms: 50, answer_ms: 5000 })
    const [one, other] = [await opened(stage, 'one'), await opened(stage, 'other')]
    await save(one.store, installation({ id: '1', name: 'before' }))
    await own.kill()
    await until('both have seen it', () => !one.store.isReachable() && !other.store.isReachable())
    await t.rejects(save(one.store, installation({ id: '2' })), {
      ...{ code: 'store_unreachable', details: { retryAfterMs: 50 } },
      message: /does not answer now; nothing was changed/,
    })
    await t.rejects(one.store.refresh(), { code: 'store_unreachable' })
    t.same(stage.told, ['away store_unreachable', 'away store_unreachable'])
    await own.start()
    await until('both are back', () => one.store.isReachable() && other.store.isReachable())
    await save(one.store, installation({ id: '1', name: 'after' }))
    await until('the other follows again', () => other.told.includes('installation after'))
    t.same(stage.told.slice(2), ['back', 'back'])
  },
)

t.test(
  'one that stands still is given up in time, and a turn of a daemon that stands still is taken from it',
  { skip: noPostgres, timeout: 60_000 },
  async (t) => {
    const own = postgres as NonNullable<typeof postgres>
    const stage = await stageOf(t, own.newUrl(), {
      answer_ms: 2000,
      connect_ms: 10_000,
      retry_first_ms: 10,
      retry_max_ms: 50,
    })
    const [one, other] = [await opened(stage, 'one'), await opened(stage, 'other')]
    const begun = Promise.withResolvers<void>()
    const wakes = Promise.withResolvers<void>()
    const stuck = one.store.keeper.inTurn(async () => {
      begun.resolve()
      await wakes.promise
      await one.store.keeper.saveInstallations({
        changed: [installation({ id: '1', name: 'of the stuck one' })],
        removed: [],
      })
    })
    stuck.catch(() => {})
    await begun.promise
    await until('the turn was taken', () =>
      save(other.store, installation({ id: '1' })).then(
        () => true,
        () => false,
      ),
    )
    wakes.resolve()
    await t.rejects(stuck, { code: 'store_unreachable' }, 'what it does then has not happened')
    t.teardown(() => own.signal('SIGCONT'))
    own.signal('SIGSTOP')
    await t.rejects(save(one.store, installation({ id: '1' })), { code: 'store_unreachable' })
    own.signal('SIGCONT')
    await until('it is found again', () =>
      save(one.store, installation({ id: '1' })).then(
        () => true,
        () => false,
      ),
    )
  },
)

t.test('a database that is not there is named at the start, and no password', async (t) => {
  const stage = await storeStage(t, 'postgres://me:secret@127.0.0.1:1/x')
  const refused: Fault = await stage.open().then(
    () => t.fail('it opens'),
    (fault) => fault,
  )
  t.match(refused, { code: 'store_unreachable', message: /at 127\.0\.0\.1, port 1: connect ECONNREFUSED/ })
  t.notMatch(`${refused.stack} ${refused.cause}`, /secret/)
})

t.test('no more changes wait than may', { skip: noPostgres }, async (t) => {
  const stage = await stageOf(t, postgres?.newUrl() ?? '', { waiting: 2 })
  const { store } = await opened(stage, 'one')
  const open = Promise.withResolvers<void>()
  const two = [store.keeper.inTurn(() => open.promise), store.keeper.inTurn(async () => {})]
  await t.rejects(
    store.keeper.inTurn(async () => {}),
    { code: 'store_busy', message: /2 changes wait/ },
  )
  open.resolve()
  await Promise.all(two)
  await store.keeper.inTurn(async () => {})
})

t.test(
  'a change whose answer is lost at the very end is told as unsure, and is known once the database is back',
  { skip: noPostgres },
  async (t) => {
    const url = postgres?.newUrl() ?? ''
    const proxy = await cuttingProxy(t, url)
    const stage = await stageOf(t, proxy.url, { retry_first_ms: 10, retry_max_ms: 50 })
    const { store, told } = await opened(stage, 'one')
    proxy.state.isCutting = true
    await t.rejects(save(store, installation({ id: '1', name: 'Roof' })), {
      code: 'store_unsure',
      message: /look whether/,
    })
    proxy.state.isCutting = false
    await until('it was made after all', () => told.includes('installation Roof'))
  },
)

t.test(
  'a newer schema, a backup that was put back, and a record that cannot be read end a daemon',
  { skip: noPostgres },
  async (t) => {
    for (const [sql, code] of [
      ['UPDATE plantroom_updates_store SET schema = 99', 'database_newer'],
      ['UPDATE plantroom_updates_store SET revision = 0', 'store_replaced'],
      ['UPDATE plantroom_updates_store SET forgotten = 1000', 'store_replaced'],
      [
        `INSERT INTO plantroom_updates_record VALUES ('installation', 'x', '{}', 2); UPDATE plantroom_updates_store SET revision = 2`,
        'database_damaged',
      ],
    ] as const) {
      const url = postgres?.newUrl() ?? ''
      const stage = await stageOf(t, url, { follow_ms: 50 })
      const { store } = await opened(stage, 'one')
      await save(store, installation({ id: '1' }))
      postgres?.sql(url, sql.replaceAll(', 2)', ', 3)').replace('revision = 2', 'revision = 3'))
      await until(code, () => stage.told.includes(`broken ${code}`))
    }
  },
)

t.test(
  'what is removed is forgotten after a day, and whoever missed it starts anew',
  { skip: noPostgres },
  async (t) => {
    const url = postgres?.newUrl() ?? ''
    const stage = await stageOf(t, url)
    const { store } = await opened(stage, 'one')
    await store.keeper.inTurn(() => store.keeper.saveSessions({ changed: [], removed: ['gone'] }))
    postgres?.sql(
      url,
      `UPDATE plantroom_updates_record SET written_at = now() - interval '2 days'; UPDATE plantroom_updates_store SET revision = 255`,
    )
    await store.refresh()
    await save(store, installation({ id: '1' }))
    t.equal(postgres?.sql(url, 'SELECT revision, forgotten FROM plantroom_updates_store'), '256|2')
    t.equal(postgres?.sql(url, 'SELECT kind FROM plantroom_updates_record'), 'installation')
  },
)

t.test(
  'wrong accounts, databases and files end the start with a sentence that holds no password',
  { skip: noPostgres },
  async (t) => {
    const url = postgres?.newUrl() ?? ''
    const wrong = mkdtempSync(join(tmpdir(), 'store-'))
    t.teardown(() => rmSync(wrong, { recursive: true }))
    writeFileSync(join(wrong, 'password'), `not ${PASSWORD}\n`)
    for (const [address, more, code] of [
      [url, { password_file: join(wrong, 'password') }, 'store_unusable'],
      [url, { password_file: join(wrong, 'none') }, 'password_file_unreadable'],
      [url.replace(/\w+$/, 'nowhere'), {}, 'store_unusable'],
      ['postgres://127.0.0.1:1/x', {}, 'store_unreachable'],
      [`${url}?sslmode=verify-full`, {}, 'store_unreachable'],
    ] as const) {
      const stage = await stageOf(t, address, more)
      const fault = await stage.open().then(
        () => undefined,
        (error: Fault) => error,
      )
      t.match(fault, { code })
      t.notMatch(`${fault?.stack} ${JSON.stringify(fault)} ${fault?.cause}`, PASSWORD)
    }
  },
)

t.test(
  'it is reached by TLS whose certificate is checked, by a Unix socket, and with a password in its URL',
  { skip: noPostgres },
  async (t) => {
    const { home, newUrl, port, sql } = postgres as NonNullable<typeof postgres>
    const overTls = `SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE ssl AND application_name = 'plantroom-updates' AND datname = current_database()`
    const withPassword = (url: string) => url.replace('@', `:${encodeURIComponent(PASSWORD)}@`)
    const bySocket = (url: string) =>
      `postgres:///${new URL(url).pathname.slice(1)}?user=plantroom&host=${home}&port=${port}`
    for (const [address, more, many] of [
      [(url: string) => `${url}?sslmode=verify-full`, { ca_file: tls.file }, '2'],
      [(url: string) => `${url}?sslmode=disable`, {}, '0'],
      [withPassword, { password_file: '' }, '0'],
      [bySocket, {}, '0'],
    ] as const) {
      const url = newUrl()
      const stage = await stageOf(t, address(url), more)
      await (await opened(stage, 'one')).store.keeper.inTurn(async () => {})
      t.equal(sql(url, overTls), many)
      await stage.close()
    }
    const url = newUrl()
    const unknown = await stageOf(t, `${url}?sslmode=verify-full`)
    await t.rejects(unknown.open(), { code: 'store_unreachable', message: /name a PEM file .* in store\.ca_file/ })
    const named = await stageOf(t, `${url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full`, {
      ca_file: tls.file,
    })
    await t.rejects(named.open(), { code: 'store_unreachable', message: /the certificate is for other names/ })
  },
)
