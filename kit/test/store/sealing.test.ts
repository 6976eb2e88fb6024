import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSeal } from '../../store/sealing.ts'

t.test('what was sealed opens again, after a restart too, and looks different each time', async (t) => {
  const folder = t.testdir({})
  const seal = await openSeal(folder)
  const sealed = seal.close('se:cret ä', 'camera 1')
  t.notMatch(Buffer.from(sealed, 'base64url').toString('latin1'), 'cret')
  t.not(seal.close('se:cret ä', 'camera 1'), sealed)
  t.equal((await openSeal(folder)).open(sealed, 'camera 1'), 'se:cret ä')
  t.equal(seal.open(seal.close('', 'x'), 'x'), '')
  t.equal(statSync(join(folder, 'sealing.key')).mode & 0o777, 0o600)
  t.equal(readFileSync(join(folder, 'sealing.key')).length, 32)
})

t.test('nothing opens with another key, for another camera, or with a bit changed', async (t) => {
  const seal = await openSeal(t.testdir({}))
  const sealed = seal.close('secret', 'camera 1')
  const other = await openSeal(`${t.testdir({ other: {} })}/other`)
  t.throws(() => other.open(sealed, 'camera 1'), { code: 'seal_broken' })
  t.throws(() => seal.open(sealed, 'camera 2'), { code: 'seal_broken' })
  const bytes = Buffer.from(sealed, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.throws(() => seal.open(changed.toString('base64url'), 'camera 1'), { code: 'seal_broken' }, `byte ${at}`)
  }
  for (const short of ['', 'a', sealed.slice(0, 20)])
    t.throws(() => seal.open(short, 'camera 1'), { code: 'seal_broken' })
})

t.test('a file that is no key is told, and not replaced', async (t) => {
  const folder = t.testdir({})
  writeFileSync(join(folder, 'sealing.key'), 'short')
  await t.rejects(openSeal(folder), { code: 'seal_broken' })
  t.equal(readFileSync(join(folder, 'sealing.key'), 'utf8'), 'short')
})

t.test('a key that systemd hands in is used, and none is made beside what it opens', async (t) => {
  const folder = t.testdir({ credentials: { 'sealing.key': 'k'.repeat(32) }, state: {} })
  const seal = await openSeal(join(folder, 'state'), join(folder, 'credentials'))
  const sealed = seal.close('secret', 'release 1')
  t.notOk(existsSync(join(folder, 'state/sealing.key')))
  t.equal((await openSeal(join(folder, 'credentials'))).open(sealed, 'release 1'), 'secret')
  await openSeal(join(folder, 'state'), join(folder, 'state'))
  t.ok(existsSync(join(folder, 'state/sealing.key')), 'where it hands in none, one is made')
})
