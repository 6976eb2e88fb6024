/** Tests of picture-folder.ts. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Fault } from '../../pure/fault.ts'
import { openPictureFolder } from '../../store/picture-folder.ts'

const full = (count: number) => new Fault('plans_full', `${count} are kept`)

function here(t: Test, most = 3) {
  const stateFolder = mkdtempSync(join(tmpdir(), 'pictures-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const used = new Set<string>()
  const pictures = openPictureFolder({ stateFolder, most, inUse: () => used, full })
  const keep = (text: string) => pictures.put(Buffer.from(text), 'png')
  const read = async (name: string) => {
    const pieces: Uint8Array[] = []
    for await (const piece of pictures.open(name)?.stream ?? []) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }
  return { folder: join(stateFolder, 'plans'), used, pictures, keep, read }
}

t.test('keeps a picture under the name of its content, once, for the owner alone', async (t) => {
  const { folder, keep, read, pictures } = here(t)
  const name = await keep('one')
  t.match(name, /^[0-9a-f]{64}\.png$/)
  t.equal(await keep('one'), name)
  t.same(readdirSync(folder), [name])
  t.equal(statSync(join(folder, name)).mode & 0o077, 0)
  t.equal(await read(name), 'one')
  t.equal(pictures.has(name), true)
})

t.test('drops the oldest that no plan shows, and refuses while all are shown', async (t) => {
  const { folder, keep, used } = here(t)
  const names = [await keep('1'), await keep('2'), await keep('3')]
  names.forEach((name, at) => {
    utimesSync(join(folder, name), at + 1, at + 1)
  })
  used.add(names[0] ?? '')
  const fourth = await keep('4')
  t.same(new Set(readdirSync(folder)), new Set([names[0], names[2], fourth]))
  for (const name of readdirSync(folder)) used.add(name)
  t.match(await keep('5').catch((fault) => fault), { code: 'plans_full' })
  t.equal(readdirSync(folder).length, 3)
})

t.test('what no plan shows is swept, and nothing else', async (t) => {
  const { folder, keep, pictures, used } = here(t)
  await pictures.sweep()
  const names = [await keep('1'), await keep('2')]
  writeFileSync(join(folder, 'notes.txt'), 'x')
  used.add(names[1] ?? '')
  await pictures.sweep()
  t.same(readdirSync(folder).toSorted(), [names[1], 'notes.txt'].toSorted())
})

t.test('gives nothing but pictures: no other file, no link, no folder', async (t) => {
  const { folder, pictures, keep } = here(t)
  const name = await keep('one')
  const other = (letter: string) => `${letter.repeat(64)}.png`
  symlinkSync('/etc/passwd', join(folder, other('b')))
  mkdirSync(join(folder, other('c')))
  writeFileSync(join(folder, 'notes.txt'), 'x')
  for (const one of ['notes.txt', `../plans/${name}`, other('b'), other('c'), other('d'), '']) {
    t.equal(pictures.open(one), undefined, one)
    t.equal(pictures.has(one), false, one)
  }
  t.equal(here(t).pictures.open(name), undefined, 'before anything was kept there is no folder')
})
