/** plantroom updates backup and restore, as built: what an update server knows comes back, and keys of releases go out sealed. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { t } from 'tap'
import { archiveOf, openStage } from '../../../daemons/updates/test/stage.ts'
import { outerFolder } from './small-checkout.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')

function plantroom(words: readonly string[], base = '/nowhere') {
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const env = { NODE_COMPILE_CACHE, PATH, PLANTROOM_BASE: base }
  return spawnSync(COMMAND, ['updates', ...words], { encoding: 'utf8', env })
}

t.test(
  'C updates backup takes all but the files out of a server that runs, and restore makes it another',
  async (t) => {
    const first = await openStage(t)
    const archive = archiveOf(4096)
    t.equal((await first.publish('1.1.0', archive)).status, 200)
    const id = await first.enabled('1.0.0')
    const wanted = { update: true, version: '1.1.0', encryption_key: archive.key }
    t.match((await first.post('/check_update', { installation_id: id, version: '1.0.0' })).body, wanted)

    const file = join(outerFolder(t), 'updates.backup')
    const saved = plantroom(['backup', '--state', first.stateFolder, file])
    t.match(saved, {
      status: 0,
      stdout: `Not in it: what was published, which is in ${first.stateFolder}-files: copy that folder too.`,
    })
    const bytes = gunzipSync(readFileSync(file))
    const key = Buffer.from(archive.key, 'hex')
    t.ok(bytes.includes('1.1.0') && bytes.includes(id), 'the release and the installation are in it')
    for (const [form, text] of [
      ['hex digits', archive.key],
      ['large hex digits', archive.key.toUpperCase()],
      ['bytes', key],
      ['base64', key.toString('base64').replace(/=+$/, '')],
      ['base64url', key.toString('base64url')],
    ] as const)
      t.notOk(bytes.includes(text), `the key of the release is not in it as ${form}`)

    const folder = join(outerFolder(t), 'state')
    t.match(plantroom(['restore', '--state', folder, file]), { status: 0, stdout: /Not put back: what was published/ })
    cpSync(`${first.stateFolder}-files`, `${folder}-files`, { recursive: true })
    const second = await openStage(t, { stateFolder: folder })
    t.match((await second.post('/check_update', { installation_id: id, version: '1.0.0' })).body, wanted)
  },
)

t.test('with a shared database and a bucket it says what else is to be copied, and how', async (t) => {
  const toml = '[store]\nurl = "postgres://plantroom@db.example/updates"\n[blobs]\nurl = "s3://updates"\n'
  const base = t.testdir({ etc: { plantroom: { 'updates.toml': toml } }, state: { 'sealing.key': 'x' } })
  const { status, stdout } = plantroom(['backup', '--state', join(base, 'state'), join(base, 'b')], base)
  t.equal(status, 0)
  t.match(stdout, /^1 files of updates are in .*\nNot in it: the records, .* store\.url: copy it by pg_dump/)
  t.match(stdout, /\nNot in it: what was published, which is in the bucket of blobs\.url: copy that too\.\n$/)
})

t.test('settings that are refused keep nobody from a backup', async (t) => {
  const base = t.testdir({ etc: { plantroom: { 'updates.toml': 'wrong = 1\n' } }, state: { 'sealing.key': 'x' } })
  const { status, stdout } = plantroom(['backup', '--state', join(base, 'state'), join(base, 'b')], base)
  t.match({ status, stdout }, { status: 0, stdout: 'plantroom check-config updates says why' })
})

t.test('the help of the update server names what there is beside running it', async (t) => {
  const { status, stdout } = plantroom(['--help'])
  t.equal(status, 0)
  for (const name of ['keys', 'backup', 'restore']) t.match(stdout, new RegExp(`^ {2}plantroom updates ${name}$`, 'm'))
  t.match(plantroom(['backup', '--help']).stdout, /plantroom updates backup is plantroom backup updates/)
  t.match(plantroom(['backup']), { status: 2, stderr: /expected: plantroom backup DAEMON/ })
})
