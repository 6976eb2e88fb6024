/** Tests of release/by-delta.ts: a delta is taken where it is of use, and never keeps a machine from its update. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { applyUpdate } from '../../release/apply.ts'
import type { ArchiveFile } from './archives.ts'
import {
  filesOf,
  type Published,
  publish,
  publisher,
  stageMachine,
  stageServer,
  startedVersion,
  withDelta,
} from './update-stage.ts'

const people = publisher()

/** A machine to which 1.1.0 is offered with a delta. */
async function staged(t: Test, change?: object) {
  const server = await stageServer(t)
  const machine = stageMachine(join(t.testdir({ machine: {}, work: {} }), 'machine'), server.url, people)
  const before = join(machine.root, readlinkSync(join(machine.root, 'current')))
  const large = readFileSync(join(before, 'data/deep/er/large.bin'))
  const files: ArchiveFile[] = filesOf('1.1.0').map((file) =>
    file.path.endsWith('large.bin') ? { ...file, bytes: Buffer.concat([large, Buffer.from('more')]) } : file,
  )
  const offered = await withDelta(
    join(t.testdirName, 'work'),
    machine.root,
    publish(people, '1.1.0', { files }),
    change,
  )
  server.offered = offered
  return { ...machine, server, before, offered }
}

t.test('an update is made of the release that runs and what has changed', async (t) => {
  const { offered, parts, root, said, server, state } = await staged(t)
  t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.1.0' })
  t.equal(await startedVersion(root), '1.1.0')
  t.same(server.pulled, ['delta from 1.0.0'])
  t.equal(server.checks[0]?.deltas, true)
  t.ok(offered.delta.length < offered.container.length / 100, `${offered.delta.length} bytes`)
  t.same(said.slice(2, 4), ['1.1.0 comes as what has changed since 1.0.0: 1 kB', '3 files of 1.1.0 are unpacked'])
  for (const name of ['delta.part', 'download.part']) t.notOk(existsSync(join(state, name)), name)
})

t.test('a delta that was cut goes on where it was', async (t) => {
  const { parts, root, server } = await staged(t)
  server.odd = (path, count) => (path === '/pull_update' && count === 1 ? { cutAfter: 100 } : undefined)
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.same(
    [server.pulls, server.pulled],
    [
      [0, 100],
      ['delta from 1.0.0', 'delta from 1.0.0'],
    ],
  )
  t.equal(await startedVersion(root), '1.1.0')
})

type Staged = Awaited<ReturnType<typeof staged>>

const damaged = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -20), Buffer.alloc(20)])
const cases: [what: string, change: (stage: Staged) => void, said: RegExp][] = [
  [
    'is damaged on the server',
    ({ offered, server }) => {
      server.offered = { ...offered, delta: damaged(offered.delta) }
    },
    /the delta from 1\.0\.0 is of no use \(its SHA-256 is .*\): the archive of 1\.1\.0 is fetched/,
  ],
  [
    'is not there any more',
    ({ server }) => {
      server.odd = (path, count) => (path === '/pull_update' && count === 1 ? { status: 404 } : undefined)
    },
    /is of no use \(the update server answered 404: no\.\)/,
  ],
  [
    'is encrypted by another key',
    ({ offered, server }) => {
      const delta = Buffer.from(offered.delta)
      delta.writeUInt8(delta.readUInt8(20) ^ 1, 20)
      server.offered = reoffered({ ...offered, delta })
    },
    /is of no use \(the key is not that of this container/,
  ],
  [
    'is for a file that is damaged here',
    ({ before }) => writeFileSync(join(before, 'bin/run'), '#!/bin/bash\n'),
    /is of no use \(bin\/run of the release that runs is not what its manifest says/,
  ],
]

/** With the checksum of what is there. */
function reoffered(offered: Published & { delta: Buffer }): Published {
  const checksum = createHash('sha256').update(offered.delta).digest('hex')
  return { ...offered, offer: { ...offered.offer, delta: { ...(offered.offer.delta as object), checksum } } }
}

for (const [what, change, sentence] of cases)
  t.test(`where a delta ${what} the archive is fetched, and the log says so`, async (t) => {
    const stage = await staged(t)
    change(stage)
    const { parts, root, said, server, state } = stage
    t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.1.0' })
    t.equal(await startedVersion(root), '1.1.0')
    t.equal(server.pulled.at(-1), '1.1.0')
    t.ok(
      said.some((one) => sentence.test(one)),
      said.join('\n'),
    )
    t.notOk(existsSync(join(state, 'delta.part')))
  })

const offers: [what: string, change: object][] = [
  ['from another version', { from: '0.9.0' }],
  ['as large as the archive', { size: 1_000_000 }],
  ['in another form', { checksum: 'none' }],
]
for (const [what, change] of offers)
  t.test(`a delta ${what} is not asked for`, async (t) => {
    const { parts, root, server } = await staged(t, change)
    t.match(await applyUpdate(parts()), { outcome: 'applied' })
    t.same(server.pulled, ['1.1.0'])
    t.equal(await startedVersion(root), '1.1.0')
  })

t.test('what fails besides the delta is no reason to fetch the archive', async (t) => {
  const { parts, server, state } = await staged(t)
  const dependencies = async () => {
    throw new Error('npm ended with 1')
  }
  await t.rejects(applyUpdate(parts({ hooks: { dependencies } })), { code: 'update_dependencies_failed' })
  t.same(server.pulled, ['delta from 1.0.0'])
  t.match(JSON.parse(readFileSync(join(state, 'history.json'), 'utf8')), { report: { failed_step: 'dependencies' } })
})
