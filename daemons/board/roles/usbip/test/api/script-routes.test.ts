/** Requests for the scripts, under every name that a request can carry. */
import t from 'tap'
import { scriptRoutes } from '../../api/usbip-routes.ts'

/** The text of one script, asked for with this header. */
function scriptFor(path: string, host: string | undefined, device = ''): string {
  const found = scriptRoutes({ port: () => 3241, device: () => device }).find((one) => one.path === path)
  const reply = found?.handle({ headers: { host } } as never) as { body: Buffer }
  return reply.body.toString()
}

t.test('B.auth.1 both scripts are open to anyone', (t) => {
  t.same(
    scriptRoutes({ port: () => 1, device: () => '' }).map(({ method, path, who }) => [method, path, who]),
    [
      ['GET', '/usbip.sh', 'anyone'],
      ['GET', '/usbip.ps1', 'anyone'],
    ],
  )
  t.end()
})

t.test('a script names the board by the name of the request, and its open port', (t) => {
  for (const [header, host] of [
    ['lobby.local:8080', 'lobby.local'],
    ['10.20.4.7', '10.20.4.7'],
    ['[fd00::7]:80', 'fd00::7'],
  ] as const) {
    t.match(scriptFor('/usbip.sh', header), `host='${host}'\nport='3241'\n`)
    t.match(scriptFor('/usbip.ps1', header), `$BoardHost = '${host}'\r\n$BoardPort = '3241'\r\n`)
  }
  t.end()
})

t.test('the device is the one in the settings, or whatever the board shares', (t) => {
  t.match(scriptFor('/usbip.sh', 'board', '0403:6001:A5'), "\ndevice='0403:6001:A5'\n")
  t.match(scriptFor('/usbip.sh', 'board'), "\ndevice=''\n")
  t.end()
})

t.test('no script is made for an invalid name', (t) => {
  for (const host of [undefined, '', 'a b', "x';reboot;'", '$(reboot)'])
    t.throws(() => scriptFor('/usbip.sh', host), { code: 'bad_http' }, String(host))
  t.end()
})
