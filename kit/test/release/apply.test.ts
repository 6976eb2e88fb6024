/** Tests of release/apply.ts and switch.ts: from one release to another, or back. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { fakeClock } from '../../clock-fake.ts'
import { applyUpdate, checkForUpdate, settleUpdate, type UpdateParts } from '../../release/apply.ts'
import { textOfSigned } from '../../release/signed.ts'
import type { Health } from '../../release/switch.ts'
import { archiveOf } from './archives.ts'
import {
  filesOf,
  type Published,
  publish,
  publisher,
  readState,
  type StagedMachine,
  type StageServer,
  stageMachine,
  stageServer,
  startedVersion,
} from './update-stage.ts'

const people = publisher()

interface Stage extends StagedMachine {
  server: StageServer
}

async function staged(t: Test, offered?: Published, trusted: typeof people | undefined = people): Promise<Stage> {
  const server = await stageServer(t)
  server.offered = offered
  return { ...stageMachine(t.testdir(), server.url, trusted), server }
}

const releasesOf = (root: string) => readdirSync(join(root, 'releases')).sort()

t.test('an update is fetched, proven, unpacked, put in place, restarted and watched', async (t) => {
  const next = publish(people, '1.1.0')
  const { calls, parts, root, said, server, state } = await staged(t, next)
  t.same(await applyUpdate(parts({ settings: { probation_ms: 20 } })), {
    ...{ outcome: 'applied', version: '1.1.0', from: '1.0.0' },
  })
  t.equal(await startedVersion(root), '1.1.0')
  t.same(calls, ['backup', 'restart 1.1.0'])
  t.equal(statSync(join(root, 'current/.complete')).mode & 0o777, 0o644)
  t.equal(releasesOf(root).length, 2, 'the one before is kept')
  t.match(readlinkSync(join(root, 'previous')), /^releases\/1\.0\.0-/)
  t.same(readdirSync(state).sort(), ['history.json', 'installation-id', 'trust'], 'nothing else is left')
  t.match(readState(state, 'trust/seen.json'), { trust: { sequence: 5 } })
  t.same(said, [
    '1.1.0 is there, 1.0.0 runs',
    'the states are kept in /backups/one',
    '0.2 MB of 1.1.0 are here',
    '1.1.0 is what its checksum says',
    '3 files of 1.1.0 are unpacked',
    '1.1.0 is in the place of 1.0.0',
    'restarting gateway',
    '1.1.0 answers; it is watched for 1 s',
    '1.1.0 is applied',
  ])
  t.match(server.checks[0], { version: '1.0.0', arch: 'amd64', channel: 'stable', installation_id: /^[0-9a-f]{32}$/ })

  server.offered = undefined
  t.same(await applyUpdate(parts()), { outcome: 'current', version: '1.1.0' })
  t.same(server.checks[1]?.facts, { applied: '1.1.0' }, 'what came of it is told')
  t.same(server.checks[1]?.installation_id, server.checks[0]?.installation_id)
  await checkForUpdate(parts())
  t.equal(server.checks[2]?.facts, undefined, 'once')
  t.equal(calls.length, 2, 'nothing to do: no backup, no restart')
})

t.test('of several updates the last two stay on the disk', async (t) => {
  const { parts, root, server } = await staged(t)
  for (const [at, version] of ['1.1.0', '1.2.0', '1.3.0'].entries()) {
    server.offered = publish(people, version, { change: { sequence: 5 + at } })
    await applyUpdate(parts())
  }
  t.equal(await startedVersion(root), '1.3.0')
  t.match(releasesOf(root), [/^1\.2\.0-/, /^1\.3\.0-/])
})

t.test('a check says what there is, and changes nothing', async (t) => {
  const next = publish(people, '1.1.0')
  next.offer.window = '02:00-04:00'
  const { calls, parts, root } = await staged(t, next)
  const found = { outcome: 'available', version: '1.1.0', from: '1.0.0', window: '02:00-04:00' }
  t.same(await checkForUpdate(parts()), found)
  t.same(calls, [])
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('a release that is not well is taken back, told, and not tried again', async (t) => {
  const { calls, parts, root, server, state } = await staged(t, publish(people, '1.1.0'))
  const sick = { health: async (): Promise<Health> => ({ state: 'dead', why: 'gateway ended with 1', upMs: null }) }
  const outcome = await applyUpdate(parts({ hooks: sick }))
  t.match(outcome, {
    outcome: 'rolled_back',
    version: '1.1.0',
    to: '1.0.0',
    step: 'prove',
    reason: 'gateway ended with 1',
  })
  t.same(calls, ['backup', 'restart 1.1.0', 'restore /backups/one', 'restart 1.0.0'])
  t.equal(await startedVersion(root), '1.0.0')
  t.equal(releasesOf(root).length, 1)
  t.notOk(existsSync(join(state, 'pending.json')))

  t.match(await applyUpdate(parts()), { outcome: 'bad', version: '1.1.0', reason: 'gateway ended with 1' })
  t.same(server.checks[1]?.facts, { rolled_back: '1.1.0', failed_step: 'prove', reason: 'gateway ended with 1' })
  server.offered = publish(people, '1.1.1')
  t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.1.1' })
})

t.test('a release whose restart fails is taken back', async (t) => {
  const { parts, root } = await staged(t, publish(people, '1.1.0'))
  let count = 0
  const restart = async () => {
    if (count++ === 0) throw new Error('systemctl failed with 1')
  }
  t.match(await applyUpdate(parts({ hooks: { restart } })), { step: 'restart', reason: 'systemctl failed with 1' })
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('a backup that cannot be put back keeps nothing from running', async (t) => {
  const { parts, root, said } = await staged(t, publish(people, '1.1.0'))
  const hooks = {
    health: async (): Promise<Health> => ({ state: 'dead', why: 'gateway ended', upMs: null }),
    restore: async () => {
      throw new Error('it is gone')
    },
  }
  t.match(await applyUpdate(parts({ hooks })), { outcome: 'rolled_back' })
  t.equal(await startedVersion(root), '1.0.0')
  t.ok(said.some((one) => /could not be put back \(it is gone\)/.test(one)))
})

/** An update that runs already, and is not proven yet. */
async function unproven(t: Test, phase = 'proving'): Promise<Stage & { write(tries: number): void }> {
  const stage = await staged(t, publish(people, '1.1.0'))
  const file = join(stage.state, 'pending.json')
  let kept = ''
  const restart = async () => {
    kept = readFileSync(file, 'utf8')
  }
  await applyUpdate(stage.parts({ hooks: { restart } }))
  const pending = { ...(JSON.parse(kept) as object), phase }
  const write = (tries: number) => writeFileSync(file, JSON.stringify({ ...pending, tries }))
  write(1)
  stage.calls.length = 0
  return { ...stage, write }
}

/** Watches it on a clock of the test, with a health that changes with the time. */
async function watched(
  t: Test,
  healthAt: (ms: number) => Health['state'] | 'throws',
  upAt: (ms: number) => number | null = () => null,
) {
  const { parts } = await unproven(t)
  const clock = fakeClock()
  let askedMs = 0
  const health = async (): Promise<Health> => {
    askedMs = clock.monotonicMs()
    const state = healthAt(askedMs)
    if (state === 'throws') throw new Error('no answer')
    return { state, why: state === 'well' ? '' : `it was ${state}`, upMs: upAt(askedMs) }
  }
  const settings = { probation_ms: 60_000, probe_ms: 1000, unwell_ms: 30_000 }
  let isDone = false
  const done = settleUpdate({ ...parts({ settings, hooks: { health } }), clock }).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.pending() > 0) await clock.run(1000)
  }
  return { outcome: await done, atMs: askedMs }
}

t.test('a release is watched for the whole probation', async (t) => {
  const { atMs, outcome } = await watched(t, () => 'well')
  t.match(outcome, { outcome: 'applied' })
  t.ok(atMs >= 60_000 && atMs < 70_000, `${atMs}`)
})

t.test('a daemon may take its time to start', async (t) => {
  const { outcome } = await watched(t, (ms) => (ms < 25_000 ? 'unwell' : 'well'))
  t.match(outcome, { outcome: 'applied' })
})

t.test('a daemon that does not answer in time, or not any more, is no good release', async (t) => {
  t.match((await watched(t, () => 'throws')).outcome, { outcome: 'rolled_back', reason: 'no answer' })
  t.match((await watched(t, (ms) => (ms < 20_000 ? 'well' : 'unwell'))).outcome, { outcome: 'rolled_back' })
})

t.test('a daemon that is silent at the end of the probation is waited for', async (t) => {
  const { atMs, outcome } = await watched(t, (ms) => (ms > 50_000 && ms < 70_000 ? 'unwell' : 'well'))
  t.match(outcome, { outcome: 'applied' })
  t.ok(atMs >= 70_000)
})

t.test('a release whose daemon is started again and again is taken back', async (t) => {
  const byStarts = await watched(
    t,
    () => 'well',
    (ms) => ms % 20_000,
  )
  t.match(byStarts.outcome, { outcome: 'rolled_back', reason: /started again and again, and never ran for 1 min/ })
  t.ok(byStarts.atMs < 220_000, `${byStarts.atMs}`)
  const bySilence = await watched(t, (ms) => (ms % 20_000 < 3000 ? 'unwell' : 'well'))
  t.match(bySilence.outcome, { outcome: 'rolled_back' })
  const once = await watched(
    t,
    () => 'well',
    (ms) => (ms < 40_000 ? ms : ms - 40_000),
  )
  t.match(once.outcome, { outcome: 'applied' })
  t.ok(once.atMs >= 100_000, 'the probation begins anew')
})

t.test('a daemon that has ended for good is not waited for', async (t) => {
  const { atMs, outcome } = await watched(t, (ms) => (ms > 5000 ? 'dead' : 'well'))
  t.match(outcome, { outcome: 'rolled_back', reason: 'it was dead' })
  t.ok(atMs < 10_000)
})

// What is offered, and not taken.

const gz = archiveOf(filesOf('1.1.0')).archive
const other = publisher()
const refusals: { what: string; offered: () => Published; code: string; trusted?: typeof people | undefined }[] = [
  {
    what: 'that is not signed',
    offered: () => publish(people, '1.1.0', { isSigned: false }),
    code: 'release_unsigned',
  },
  {
    what: 'that others signed',
    offered: () => publish({ ...people, releaseKey: other.releaseKey }, '1.1.0'),
    code: 'release_untrusted',
  },
  {
    what: 'that is past its day',
    offered: () => publish(people, '1.1.0', { change: { expires: Date.now() - 1 } }),
    code: 'release_expired',
  },
  {
    what: 'for another machine',
    offered: () => publish(people, '1.1.0', { change: { arch: 'arm64' } }),
    code: 'release_wrong_arch',
  },
  {
    what: 'for later versions',
    offered: () => publish(people, '1.1.0', { change: { min_from: '1.0.5' } }),
    code: 'release_too_far',
  },
  {
    what: 'whose record is of another version',
    offered: () => publish(people, '1.1.0', { change: { version: '1.1.1' } }),
    code: 'update_other_record',
  },
  {
    what: 'whose record is of another file',
    offered: () => publish(people, '1.1.0', { change: { sha256: 'f'.repeat(64) } }),
    code: 'update_other_record',
  },
  {
    what: 'whose record is of other content',
    offered: () => publish(people, '1.1.0', { change: { bundle: 'f'.repeat(64) } }),
    code: 'update_other_record',
  },
  {
    what: 'whose archive is another than its checksum says',
    offered: () => {
      const right = publish(people, '1.1.0')
      return { ...right, container: Buffer.from(right.container).fill(0, 500, 600) }
    },
    code: 'update_wrong_checksum',
  },
  {
    what: 'whose archive holds something else',
    offered: () => publish(people, '1.1.0', { archive: gz }),
    code: 'archive_wrong_manifest',
  },
  {
    what: 'that is older and not signed',
    offered: () => publish(people, '0.9.0', { isSigned: false }),
    code: 'update_older',
    trusted: undefined,
  },
]

for (const { what, offered, code, ...given } of refusals)
  t.test(`an update ${what} is refused, and nothing that runs is touched`, async (t) => {
    const trusted = 'trusted' in given ? undefined : people
    const server = await stageServer(t)
    server.offered = offered()
    const { calls, parts, root, state } = stageMachine(t.testdir(), server.url, trusted)
    await t.rejects(applyUpdate(parts()), { code })
    t.equal(await startedVersion(root), '1.0.0')
    t.equal(releasesOf(root).length, 1)
    t.notOk(calls.some((call) => call.startsWith('restart')))
    t.notOk(existsSync(join(state, 'download.part')) && code === 'update_wrong_checksum')
  })

t.test('without a root an update without a signature is taken', async (t) => {
  const server = await stageServer(t)
  server.offered = publish(people, '1.2.0', { isSigned: false })
  const { parts, root } = stageMachine(t.testdir(), server.url, undefined)
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(await startedVersion(root), '1.2.0')
})

t.test('without a root nobody who answers chooses the hours in which updates are applied by themselves', async (t) => {
  const server = await stageServer(t)
  server.offered = publish(people, '1.2.0', { isSigned: false })
  server.offered.offer.window = '00:00-00:00'
  const { parts } = stageMachine(t.testdir(), server.url, undefined)
  t.match(await checkForUpdate(parts()), { outcome: 'available', window: undefined })
})

t.test('an older release is refused once a later one was seen, applied or not', async (t) => {
  const { parts, server, state } = await staged(t, publish(people, '1.2.0', { change: { sequence: 9 } }))
  await checkForUpdate(parts())
  server.offered = publish(people, '1.3.0', { change: { sequence: 8 } })
  await t.rejects(applyUpdate(parts()), { code: 'release_replayed' })
  t.match(readState(state, 'trust/seen.json'), { trust: { sequence: 9 } })
})

t.test(
  'a clock that is not known to be right makes nothing expired, and the latest signed time is its floor',
  async (t) => {
    const { parts, server } = await staged(
      t,
      publish(people, '1.1.0', { change: { issued_at: Date.now() - 90_000_000 } }),
    )
    const at1970: UpdateParts = { ...parts(), nowAt: () => undefined }
    t.match(await checkForUpdate(at1970), { outcome: 'available' })
    server.offered = publish(people, '1.2.0', { change: { issued_at: 1000, expires: 2000 } })
    await t.rejects(checkForUpdate(at1970), { code: 'release_expired' })
  },
)

t.test('an archive that was right and could not be unpacked is not downloaded every night', async (t) => {
  const files = filesOf('1.1.0')
  const { archive } = archiveOf(files)
  const { parts, server } = await staged(t, publish(people, '1.1.0', { files, archive: archive.subarray(0, 1000) }))
  await t.rejects(applyUpdate(parts()), { code: 'archive_cut' })
  t.match(await applyUpdate(parts()), { outcome: 'bad', version: '1.1.0' })
  t.match(server.checks[1]?.facts, { failed: '1.1.0', failed_step: 'unpack', reason: 'the archive ends too early' })
  t.equal(server.pulls.length, 1)
})

t.test('what a release needs is installed before it is complete; where that fails nothing is restarted', async (t) => {
  const { calls, parts, root, state } = await staged(t, publish(people, '1.1.0'))
  const failing = async (folder: string) => {
    t.ok(existsSync(join(folder, 'data/version.txt')))
    throw new Error('npm ended with 1')
  }
  const rejected = {
    code: 'update_dependencies_failed',
    message: /npm ended with 1.*The backup from before is \/backups\/one/,
  }
  await t.rejects(applyUpdate(parts({ hooks: { dependencies: failing } })), rejected)
  t.equal(await startedVersion(root), '1.0.0')
  t.same(calls, ['backup'])
  t.match(readState(state, 'history.json'), { bad: [], report: { failed: '1.1.0', failed_step: 'dependencies' } })
  const dependencies = async (folder: string) => writeFileSync(join(folder, 'installed'), '')
  t.match(await applyUpdate(parts({ hooks: { dependencies } })), { outcome: 'applied' })
  t.ok(existsSync(join(root, 'current/installed')))
})

t.test('one update at a time', async (t) => {
  const { parts } = await staged(t, publish(people, '1.1.0'))
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
  async function backup(): Promise<never> {
    begun.resolve()
    return await held.promise
  }
  const first = t.rejects(applyUpdate(parts({ hooks: { backup } })), { message: 'it is cut off' })
  await begun.promise
  await t.rejects(applyUpdate(parts()), { code: 'update_running', message: 'an update is running already' })
  held.reject(new Error('it is cut off'))
  await first
  const both = await Promise.allSettled([applyUpdate(parts()), applyUpdate(parts())])
  t.same(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

t.test('a folder that no installer of Plantroom made is left alone', async (t) => {
  const { parts, root } = await staged(t)
  await t.rejects(applyUpdate({ ...parts(), root: t.testdir() }), { code: 'update_not_ours' })
  const astray = t.testdir({ releases: {} })
  symlinkSync(join(root, 'releases'), join(astray, 'current'))
  await t.rejects(applyUpdate({ ...parts(), root: astray }), { code: 'update_not_ours' })
})

t.test('without an update server there is nothing to ask', async (t) => {
  const { parts } = await staged(t)
  await t.rejects(checkForUpdate(parts({ settings: { update_url: '' } })), { code: 'update_no_server' })
})

for (const name of ['installation-id', 'history.json', 'pending.json', 'trust/seen.json'])
  t.test(`a damaged ${name} stops the update, and is named`, async (t) => {
    const { parts, root, state } = await staged(t, publish(people, '1.1.0'))
    writeFileSync(join(state, name), '{"')
    await t.rejects(applyUpdate(parts()), { code: 'update_memory_damaged', message: new RegExp(name) })
    t.equal(await startedVersion(root), '1.0.0')
  })

t.test(
  'a root that a person puts in the place of another counts, unless it is an older one of the same people',
  async (t) => {
    const { parts, server, state } = await staged(t, publish(people, '1.1.0'))
    await checkForUpdate(parts())
    writeFileSync(join(state, 'trust/root.json'), textOfSigned(other.root))
    await t.rejects(checkForUpdate(parts()), { code: 'release_untrusted' })
    server.offered = publish(other, '1.1.0', { change: { sequence: 2 } })
    t.match(await checkForUpdate(parts()), { outcome: 'available' })
  },
)

// Cut off, and gone on with.

for (const phase of ['swapping', 'restarting', 'proving'])
  t.test(
    `the phase ${phase} is gone on with; after three starts that were cut off the release is taken back`,
    async (t) => {
      const { calls, parts, root, write } = await unproven(t, phase)
      t.match(await settleUpdate(parts()), { outcome: 'applied', version: '1.1.0' })
      t.same(calls, phase === 'proving' ? [] : ['restart 1.1.0'])
      write(3)
      t.match(await settleUpdate(parts()), { outcome: 'rolled_back', to: '1.0.0', reason: /started 3 times/ })
      t.match(readlinkSync(join(root, 'current')), /^releases\/1\.0\.0-/)
      t.equal(await settleUpdate(parts()), undefined)
    },
  )

t.test('a roll-back that was cut off once the state was back does not put it back again', async (t) => {
  const { calls, parts, root } = await unproven(t)
  const dead = { health: async (): Promise<Health> => ({ state: 'dead', why: 'gateway ended', upMs: null }) }
  const restart = async () => {
    throw new Error('systemctl failed')
  }
  await t.rejects(settleUpdate(parts({ hooks: { ...dead, restart } })), { message: 'systemctl failed' })
  t.equal(await startedVersion(root), '1.0.0')
  t.match(await settleUpdate(parts()), { outcome: 'rolled_back', reason: 'gateway ended' })
  t.same(calls, ['restore /backups/one', 'restart 1.0.0'])
})
