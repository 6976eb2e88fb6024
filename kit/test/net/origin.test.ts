/** Tests of net/origin.ts. */
import t from 'tap'
import { isHostAllowed, isOwnHost, isOwnOrigin } from '../../net/origin.ts'

t.test('an empty list allows every Host', async (t) => {
  t.equal(isHostAllowed('evil.example', []), true)
  t.equal(isHostAllowed(undefined, []), true)
})

t.test('a list allows its names, addresses and localhost, with or without port', async (t) => {
  const allowed = ['Plant.example']
  for (const host of [
    'plant.example',
    'PLANT.EXAMPLE:3132',
    'plant.example.',
    'localhost:1',
    '10.0.0.1',
    '[fd00::1]:80',
  ])
    t.equal(isHostAllowed(host, allowed), true, host)
  for (const host of [
    undefined,
    '',
    'evil.example',
    'plant.example.evil.example',
    'a@plant.example',
    'x/plant.example',
  ])
    t.equal(isHostAllowed(host, allowed), false, String(host))
})

t.test('a box is spoken to by its address, its own name with any domain, or a name it was given', async (t) => {
  for (const host of [
    '10.0.0.1:3132',
    '[fd00::1]',
    'localhost',
    'GW-B2',
    'gw-b2.local:3132',
    'gw-b2.plant.example',
    'meters.example',
  ])
    t.equal(isOwnHost(host, 'gw-b2', ['meters.example']), true, host)
  for (const host of [undefined, '', 'evil.example', 'x.gw-b2.local', 'gw-b2x.local', 'a@gw-b2'])
    t.equal(isOwnHost(host, 'gw-b2', []), false, String(host))
  t.equal(isOwnHost('.example', '', []), false, 'a machine without a name has none')
})

t.test('an Origin is own where host and port are those of Host', async (t) => {
  t.equal(isOwnOrigin(undefined, 'box:3132'), true)
  t.equal(isOwnOrigin('http://box:3132', 'box:3132'), true)
  t.equal(isOwnOrigin('http://BOX', 'box:80'), true)
  t.equal(isOwnOrigin('https://box', 'box'), true)
  t.equal(isOwnOrigin('http://[fd00::1]:3132', '[fd00::1]:3132'), true)
})

t.test('any other Origin is foreign', async (t) => {
  for (const origin of [
    'http://box:3133',
    'http://evil',
    'null',
    '',
    'file://',
    'http://',
    'http://box:3132.evil',
    'ws://box:3132',
  ])
    t.equal(isOwnOrigin(origin, 'box:3132'), false, origin)
  t.equal(isOwnOrigin('http://box', undefined), false)
})
