import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { recognitionRoutes } from '../../api/recognition-routes.ts'
import { createIdentityBook } from '../../core/recognition/identities.ts'

t.test('3A.license a licence without recognition refuses growth, and nothing that is there already', async (t) => {
  const refused: string[] = []
  let made = 0
  const book = createIdentityBook({
    ...{ record: { enabled: false, identities: [] }, most: 9, newId: () => `id${++made}`, nowAt: () => 1 },
    ...{ save: async () => {}, onChange: async () => {} },
    readings: {
      held: async () => [],
      readingsOf: async () => [],
      isMatchedBy: async () => true,
      setMatched: async () => {},
    },
  })
  const routes = recognitionRoutes({
    ...{ book, recognises: () => ['plate'], counts: () => ({ looked: 0, failed: 0, leftOut: 0 }) },
    recorder: { changed: async () => {} } as never,
    store: { unnamed: async () => [] },
    licence: {
      requireFeature(feature) {
        refused.push(feature)
        throw new Fault('license_feature', 'not licensed')
      },
    },
  })
  const ask = (method: string, path: string, body: object, id = '') =>
    (async () =>
      routes.find((one) => one.method === method && one.path === path)?.handle({ body, params: { id } } as never))()
  const [STATE, ONE] = ['/api/recognition', '/api/identities/:id']
  await t.rejects(ask('PUT', STATE, { enabled: true }), { code: 'license_feature' })
  t.notOk(book.isOn())
  await book.turn(true)
  const { id } = await book.add({ name: 'Baker', plates: ['AB 12'] })
  const { id: other } = await book.add({ name: 'Van', plates: [] })
  t.match(await ask('PUT', STATE, { enabled: true }), { enabled: true }, 'what is on may be saved again')
  await t.rejects(ask('POST', '/api/identities', { name: 'New', plates: [] }), { code: 'license_feature' })
  t.match(await ask('PATCH', ONE, { plates: ['AB 13'] }, id), { plates: ['AB13'] })
  t.match(await ask('POST', `${ONE}/merge`, { into: other }, id), { name: 'Van', plates: ['AB13'] })
  await ask('DELETE', ONE, {}, other)
  t.match(await ask('PUT', STATE, { enabled: false }), { enabled: false })
  t.same(refused, ['recognition', 'recognition'])
})
