import t from 'tap'
import { otherRoleRoutes } from '../../api/other-role-routes.ts'

t.test('B.endpoints a path of another role says which role it needs and which one the board has', async (t) => {
  const route = otherRoleRoutes('usbip').find(({ path }) => path === '/api/serial')
  t.throws(() => route?.handle({} as never), {
    code: 'other_role',
    message: /role serial, and this board is in the role usbip/,
  })
})

t.test('the paths of the own role are left to it', async (t) => {
  const paths = otherRoleRoutes('serial').map(({ path }) => path)
  t.notOk(paths.some((path) => path.startsWith('/api/serial')))
  t.ok(paths.includes('/usbip.sh'))
})
