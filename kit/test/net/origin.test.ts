/** Tests of net/origin.ts. */
import t from 'tap'
import { isHostAllowed, isOwnOrigin } from '../../net/origin.ts'

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
