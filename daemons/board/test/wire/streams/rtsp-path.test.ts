/** Tests of wire/streams/rtsp.ts. */
import fc from 'fast-check'
import t from 'tap'
import { pathByName, readSessionPath } from '../../../wire/streams/rtsp.ts'

t.test('RAVENNA 5.2 sessions are asked for by name or by number, or without either', async (t) => {
  t.same(readSessionPath('rtsp://10.0.0.7:8554/by-name/Big%20hall'), { by: 'name', name: 'Big hall' })
  t.same(readSessionPath('rtsp://10.0.0.7/by-id/7'), { by: 'id', id: '7' })
  t.same(readSessionPath('/by-name/Big hall/'), { by: 'name', name: 'Big hall' })
  t.same(readSessionPath('rtsp://10.0.0.7:8554/'), { by: 'default' })
  t.same(readSessionPath('rtsp://10.0.0.7:8554'), { by: 'default' })
})

t.test('other paths belong to no session', async (t) => {
  for (const url of ['', '*', '/stream', '/by-name/', '/by-name/%', 'http://x/by-name/y', `/by-id/${'1'.repeat(600)}`])
    t.equal(readSessionPath(url), undefined, url)
})

t.test('every name is read back from its path', async (t) => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  fc.assert(fc.property(name, (name) => t.same(readSessionPath(pathByName(name)), { by: 'name', name })))
})

t.test('a name with a lone surrogate still has a path', async (t) => {
  t.equal(pathByName('Hall \ud800'), '/by-name/Hall%20%EF%BF%BD')
})
