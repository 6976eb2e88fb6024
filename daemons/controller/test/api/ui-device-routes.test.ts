/** Tests of api/ui-device-routes.ts. */
import t from 'tap'
import { signedIn } from './signed-in.ts'

t.test('devices that are away come first, with their error and the zones they have', async (t) => {
  const { browser } = await signedIn(t)
  const { body } = await browser.call('GET', '/ui/devices')
  t.match(body, { online: 2, offline: 1, unknown: 1, off: 0, matching: 4 })
  const devices = body.devices as { id: number }[]
  t.same(
    devices.map(({ id }) => id),
    [3, 4, 1, 2],
  )
  t.match(devices[0], { name: 'Blind bus', state: 'offline', error: 'no route', zones: 1 })
  t.match(devices[2], { name: 'Dimmer rack', state: 'online', error: null, zones: 4 })
})

t.test('devices are found by name, driver or error, and counted in full', async (t) => {
  const { browser, house } = await signedIn(t)
  house.change('device', [
    { id: 1, name: 'Rack', driver: 'tcp', enabled: false },
    { id: 3, name: 'Bus', driver: 'knx' },
  ])
  const ids = async (query: string) => {
    const { body } = await browser.call('GET', `/ui/devices?${query}`)
    return (body.devices as { id: number }[]).map(({ id }) => id)
  }
  t.same(await ids('find=KNX'), [3])
  t.same(await ids('find=no+route'), [3])
  t.same(await ids('limit=1'), [3])
  t.match((await browser.call('GET', '/ui/devices?limit=1')).body, { off: 1, offline: 1, matching: 2 })
})

t.test('devices are shown to elevated sessions only: an error may name an address', async (t) => {
  const { browser } = await signedIn(t, 'ada')
  t.match(await browser.call('GET', '/ui/devices'), { status: 403, body: { error: 'not_elevated' } })
})
