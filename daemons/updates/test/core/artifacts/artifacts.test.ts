import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { heldBytes } from '#kit/test/heap.ts'
import { createArtifacts } from '../../../core/artifacts/artifacts.ts'
import type { ArtifactRecord } from '../../../core/ports.ts'
import { blobsOf } from '../records.ts'

const facts = {
  type: 'command_set',
  filename: 'a.json',
  name: 'A',
  description: '',
  version: '',
  tags: ['x'],
  user: 'admin',
} as const
const bytes = new Uint8Array([1])

function stage(most = 10, records: ArtifactRecord[] = []) {
  const files = blobsOf()
  const disk = { isFull: false }
  const write = async () => {
    if (disk.isFull) throw new Error('full')
  }
  const keeper = { inTurn: createSerialTurn(), saveArtifact: write, removeArtifact: write }
  const onGone = (file: string) => void files.blobs.remove(file)
  const artifacts = createArtifacts({ clock: fakeClock(), keeper, blobs: files.blobs, records, most, onGone })
  return { files, disk, artifacts }
}

t.test('a name is taken once, unless it may be replaced; the old file goes', async (t) => {
  const { artifacts, files } = stage()
  await artifacts.put({ ...facts, tags: [] }, bytes, false)
  await t.rejects(artifacts.put({ ...facts, tags: [] }, bytes, false), { code: 'artifact_exists' })
  await artifacts.put({ ...facts, tags: [], type: 'web_service' }, bytes, false)
  await artifacts.put({ ...facts, tags: [], name: 'B' }, bytes, true)
  t.equal(artifacts.require('command_set', 'a.json').name, 'B')
  t.same([...files.kept.keys()], ['file 2', 'file 3'])
  await artifacts.remove('command_set', 'a.json')
  t.throws(() => artifacts.require('command_set', 'a.json'), { code: 'unknown_artifact' })
  t.equal(files.kept.size, 1)
})

t.test('two that come at once with one name: one of them is there, whole', async (t) => {
  const { artifacts, files } = stage()
  const put = () =>
    artifacts.put({ ...facts, tags: [] }, bytes, false).then(
      () => 'put',
      (fault) => fault.code,
    )
  t.same((await Promise.all([put(), put()])).sort(), ['artifact_exists', 'put'])
  t.equal(files.kept.size, 1)
})

t.test('what could not be written leaves nothing, and what was there stays', async (t) => {
  const { artifacts, disk, files } = stage()
  await artifacts.put({ ...facts, tags: [] }, bytes, false)
  disk.isFull = true
  await t.rejects(artifacts.put({ ...facts, tags: [], name: 'B' }, bytes, true), /full/)
  await t.rejects(artifacts.remove('command_set', 'a.json'), /full/)
  t.equal(artifacts.require('command_set', 'a.json').name, 'A')
  t.same([...files.kept.keys()], ['file 1'])
})

t.test('no more than may be, and no name that a path could be made of', async (t) => {
  const { artifacts } = stage(1)
  for (const filename of ['', '.', '..', '.a', 'a/b', 'a\\b', 'a\0', 'ä', 'x'.repeat(129)])
    await t.rejects(artifacts.put({ ...facts, tags: [], filename }, bytes, false), { code: 'bad_filename' }, filename)
  await artifacts.put({ ...facts, tags: [], filename: 'x'.repeat(128) }, bytes, false)
  await t.rejects(artifacts.put({ ...facts, tags: [] }, bytes, false), { code: 'too_many_artifacts' })
})

t.test('an artifact takes the memory that the plan counts for it', async (t) => {
  const before = await heldBytes()
  const many = 500
  const records = Array.from({ length: many }, (_, at): ArtifactRecord => {
    const tags = Array.from({ length: 16 }, (_one, tag) => `${at} ${tag}`.padEnd(64, 't'))
    const said = {
      ...facts,
      filename: `${at}`.padEnd(128, 'f'),
      name: `${at}`.padEnd(128, 'n'),
      description: `${at}`.padEnd(1024, 'd'),
    }
    return JSON.parse(
      JSON.stringify({ ...said, tags, checksum: 'c'.repeat(64), file: 'f', rating: null, sizeBytes: 1, modifiedAt: 1 }),
    )
  })
  const { artifacts } = stage(many, records)
  t.equal(artifacts.list().length, many)
  const each = ((await heldBytes()) - before) / many
  t.ok(each < 8192, `${Math.round(each)} bytes`)
})
