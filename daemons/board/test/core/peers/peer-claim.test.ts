/** Tests of core/peers/peer.ts. */
import fc from 'fast-check'
import t from 'tap'
import { claimOf, isSameClaim, streamText } from '../../../core/peers/peer.ts'
import { heard } from './peer-rig.ts'

const claimed = (texts: Record<string, string>, more = {}) => claimOf(heard(2, { texts, ...more }))

t.test('B.peers contains what a board says about itself', async (t) => {
  t.same(claimed({ role: 'encoder', stream: '239.69.1.2:5004', version: '1.2.3-rc.1', path: '/x' }), {
    ...{ role: 'encoder', name: 'Board 2', host: 'b2.local', port: 80, reach: ['10.0.0.2'], from: '10.0.0.2' },
    ...{ version: '1.2.3-rc.1', path: '/x', stream: '239.69.1.2:5004' },
  })
})

t.test('B.peers an encoder says which stream it sends, and is understood; no other role does', async (t) => {
  const sends = { role: 'encoder', mcast: '239.69.1.2', port: 5004 } as const
  t.equal(claimed({ role: 'encoder', stream: streamText(sends) ?? '' })?.stream, '239.69.1.2:5004')
  t.equal(streamText({ ...sends, mcast: '' }), null)
  for (const role of ['decoder', 'serial', 'usbip'] as const) t.equal(streamText({ ...sends, role }), null, role)
})

t.test('accepts a board in one of the four roles, and nothing else', async (t) => {
  for (const role of ['encoder', 'decoder', 'serial', 'usbip']) t.equal(claimed({ role })?.role, role)
  for (const role of ['gateway', '', 'Serial', '__proto__', 'constructor']) t.equal(claimed({ role }), undefined, role)
})

t.test('invalid values are null, or the default', async (t) => {
  for (const version of ['', '1', '1.2', 'x'.repeat(128), '1.2.3<b>', '1.2.3-', '999999.1.1'])
    t.equal(claimed({ version })?.version, null, version)
  for (const path of [
    '',
    'x',
    '//evil.example',
    '/\\evil.example',
    '/a b',
    '/"><b>',
    `/${'x'.repeat(99)}`,
    'javascript:1',
  ])
    t.equal(claimed({ path })?.path, '/', path)
  const streams = [
    '',
    '10.0.0.1:5004',
    '224.0.0.1:5004',
    '239.69.1.2',
    '239.69.1.2:0',
    '239.69.1.2:70000',
    '239.69.1.999:1',
  ]
  for (const stream of streams) t.equal(claimed({ stream })?.stream, null, stream)
})

t.test('has a printable name, whatever the board says', async (t) => {
  t.equal(claimed({ name: '' })?.name, 'b2')
  t.equal(claimed({ name: '' }, { host: '' })?.name, 'board-2')
  t.equal(claimed({ name: '🔊'.repeat(100) })?.name, '🔊'.repeat(64))
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), (texts) => {
      const claim = claimed(texts)
      return claim === undefined || (claim.name.length >= 1 && claim.path.startsWith('/') && claim.reach.length > 0)
    }),
  )
})

t.test('is the same from whichever address it is heard', async (t) => {
  const [one, other] = [claimed({}), claimed({}, { from: '10.0.0.1' })]
  const moved = claimed({}, { reach: ['10.0.0.9'] })
  if (!one || !other || !moved) throw new Error('one of them is not a board')
  t.equal(isSameClaim(one, other), true)
  t.equal(isSameClaim(one, moved), false)
})
