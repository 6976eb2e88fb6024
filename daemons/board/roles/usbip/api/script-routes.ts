/** The scripts that hosts run: made for the very name under which this board was asked. */
import { Fault } from '#kit/fault.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { HostScriptOptions } from '../core/host-script.ts'
import { linuxHostScript } from '../core/linux-host-script.ts'
import { windowsHostScript } from '../core/windows-host-script.ts'
import { hostOfHeader } from '../wire/host-header.ts'

/** What the scripts are made for. */
export interface ScriptParts {
  /** TCP port that hosts connect to. */
  port(): number
  /** The setting `device`. */
  device(): string
}

/** @source Interface 2, B, endpoints and authentication 1: no password */
export function scriptRoutes({ port, device }: ScriptParts): Route[] {
  const optionsFor = (header: string | undefined): HostScriptOptions => {
    const host = hostOfHeader(header)
    if (host === undefined)
      throw new Fault('bad_http', 'the header Host names neither a host nor an address, which the script is made for')
    return { host, port: port(), key: device() || null }
  }
  const scripts = [
    ['/usbip.sh', 'Linux', 'text/x-shellscript; charset=utf-8', linuxHostScript],
    ['/usbip.ps1', 'Windows', 'text/plain; charset=utf-8', windowsHostScript],
  ] as const
  return scripts.map(([path, system, type, scriptOf]) =>
    route({
      method: 'GET',
      path,
      who: 'anyone',
      summary: `Script for ${system} hosts: attaches the device, and keeps it attached`,
      replyType: type,
      handle({ headers }) {
        const text = scriptOf(optionsFor(headers.host))
        const name = path.slice(1)
        return new Reply(200, Buffer.from(text), {
          'content-type': type,
          'content-disposition': `inline; filename="${name}"`,
          // It holds the name by which this one request came.
          'cache-control': 'no-store',
        })
      },
    }),
  )
}
