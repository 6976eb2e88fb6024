import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { licencesIn, licenceTextRoute } from '../../http/licence-routes.ts'
import { serve } from './server-here.ts'

const ID = '0123456789abcdef'
const PACKAGES = [{ name: 'one', version: '1.0.0', licence: 'MIT', text: ID }]

/** A folder of licences with one text of this many characters. */
function folderOf(t: { testdir(): string }, length = 20): string {
  const folder = t.testdir()
  writeFileSync(join(folder, 'gateway.json.gz'), gzipSync(JSON.stringify(PACKAGES)))
  writeFileSync(join(folder, `${ID}.json.gz`), gzipSync(JSON.stringify({ text: 'x'.repeat(length) })))
  writeFileSync(join(folder, '../outside.json.gz'), gzipSync('{}'))
  return folder
}

t.test('the list of a daemon is read when it is asked for', async (t) => {
  const licences = licencesIn(folderOf(t), 'gateway')
  t.same(await licences.list(), PACKAGES)
  await t.rejects(licencesIn(t.testdirName, 'board').list(), { code: 'licences_missing' })
})

t.test('a text goes out unpacked, to whoever is signed in', async (t) => {
  const route = licenceTextRoute(licencesIn(folderOf(t, 400_000), 'gateway'), '/api/system/licences')
  const { ask } = await serve(t, { routes: [route] })
  t.equal((await ask(`/api/system/licences/${ID}`)).status, 401)
  const reply = await ask(`/api/system/licences/${ID}`, { as: 'viewer' })
  t.match(reply.headers.get('content-type'), /^application\/json/)
  t.same(await reply.json(), { text: 'x'.repeat(400_000) })
})

t.test('no other file is found by an id', async (t) => {
  const route = licenceTextRoute(licencesIn(folderOf(t), 'gateway'), '/api/system/licences')
  const { ask } = await serve(t, { routes: [route] })
  for (const id of ['gateway', 'ffffffffffffffff', '..%2foutside', `${ID}0`, ID.toUpperCase()]) {
    const reply = await ask(`/api/system/licences/${id}`, { as: 'viewer' })
    t.match([reply.status, (await reply.json()).error], [404, 'licence_unknown'], id)
  }
})
