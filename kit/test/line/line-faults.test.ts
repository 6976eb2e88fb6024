/** Sentences for failed opens. */
import t from 'tap'
import type { CallError } from '#native/serial/index.ts'
import { lineFaultOf } from '../../line/line-control.ts'

function failed(code: string, errno: number, more: Partial<CallError> = {}): CallError {
  return Object.assign(new Error(`${code}`), { code, errno, syscall: 'open', path: '/dev/ttyUSB0', ...more })
}

t.test('recognises an absent device by every errno that says so', (t) => {
  for (const code of ['ENOENT', 'ENXIO', 'ENODEV', 'EIO'])
    t.match(lineFaultOf(failed(code, 5), '/dev/ttyUSB0'), { code: 'line_absent', details: { ioctl: 'open' } })
  t.end()
})

t.test('names the group to join if permission is missing', (t) => {
  const fault = lineFaultOf(failed('EACCES', 13), '/dev/ttyUSB0')
  t.match(fault, { code: 'line_refused', message: /open says EACCES \(errno 13\).*dialout/ })
  t.end()
})

t.test('names the ioctl and errno a driver refused with', (t) => {
  const fault = lineFaultOf(failed('EINVAL', 22, { syscall: 'TIOCSRS485' }), '/dev/ttyS1')
  t.equal(fault.message, '/dev/ttyS1 refused the settings: TIOCSRS485 says EINVAL (errno 22).')
  t.same(fault.details, { ioctl: 'TIOCSRS485', errno: 22 })
  t.end()
})

t.test('names the process that holds a line, or says that it is unknown', (t) => {
  const known = lineFaultOf(failed('EBUSY', 16, { holder: process.pid }), '/dev/ttyS1')
  t.match(known.message, new RegExp(`^/dev/ttyS1 is in use by process ${process.pid} \\(.+\\)\\.$`))
  t.match(lineFaultOf(failed('EBUSY', 16, { holder: 2 ** 30 }), '/dev/ttyS1').details, { pid: 2 ** 30 })
  t.equal(lineFaultOf(failed('EBUSY', 16), '/dev/ttyS1').message, '/dev/ttyS1 is in use by another process.')
  t.end()
})
