import t from 'tap'
import type { Route } from '#kit/http/route.ts'
import { otherRoleRoutes, rolePaths } from '../../api/other-role-routes.ts'
import { decoderRoutes } from '../../roles/decoder/api/decoder-routes.ts'
import { encoderRoutes } from '../../roles/encoder/api/encoder-routes.ts'
import { serialRoutes } from '../../roles/serial/api/serial-routes.ts'
import { scriptRoutes, usbipRoutes } from '../../roles/usbip/api/usbip-routes.ts'

t.test('B.endpoints a path of another role names the role it needs and the one the board has', async (t) => {
  const route = otherRoleRoutes('usbip').find(({ path }) => path === '/api/serial')
  t.throws(() => route?.handle({} as never), {
    code: 'other_role',
    message: /role serial, and this board is in the role usbip/,
  })
})

t.test('the paths of the own role are left to that role', async (t) => {
  const paths = otherRoleRoutes('serial').map(({ path }) => path)
  t.notOk(paths.some((path) => path.startsWith('/api/serial')))
  t.ok(paths.includes('/usbip.sh'))
})

t.test('B.endpoints the paths listed for other roles are those that the roles have', async (t) => {
  const facts = (routes: readonly Pick<Route, 'method' | 'path' | 'who'>[] = []) =>
    routes.map(({ method, path, who }) => `${method} ${path} ${who}`).sort()
  t.same(facts(rolePaths.decoder), facts(decoderRoutes({} as never)))
  t.same(facts(rolePaths.encoder), facts(encoderRoutes({} as never)))
  t.same(facts(rolePaths.serial), facts(serialRoutes({ settings: [] } as never)))
  t.same(facts(rolePaths.usbip), facts([...usbipRoutes({} as never), ...scriptRoutes({} as never)]))
})

t.test('B.authentication.1 the stream needs no password, also if there is no stream', async (t) => {
  t.equal(otherRoleRoutes('serial').find(({ path }) => path === '/stream.sdp')?.who, 'anyone')
})
