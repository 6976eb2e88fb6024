import t from 'tap'
import { completed, type Lock, lockFaults } from '../complete-lock.ts'

const manifest = { dependencies: { a: '1.0.0' } }

function lock(packages: Lock['packages'] = {}): Lock {
  return {
    packages: { '': { ...manifest }, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' }, ...packages },
  }
}

t.test('finds nothing in a complete lock', async (t) => {
  t.same(lockFaults(lock(), manifest), [])
})

t.test('misses an optional package that is named and not locked, and adds it', async (t) => {
  const optionalDependencies = { '@b/b-linux-x64-musl': '2.0.0', '@b/b-darwin-arm64': '2.0.0' }
  const lacking = lock({ 'node_modules/a': { version: '1.0.0', integrity: 'x', dev: true, optionalDependencies } })
  t.equal(lockFaults(lacking, manifest).length, 2)
  const whole = completed(lacking, manifest)
  t.same(lockFaults(whole, manifest), [])
  t.same(whole.packages['node_modules/@b/b-linux-x64-musl'], {
    version: '2.0.0',
    cpu: ['x64'],
    dev: true,
    libc: ['musl'],
    optional: true,
    os: ['linux'],
  })
})

t.test('finds an optional package beside the one that names it', async (t) => {
  const nested = lock({
    'node_modules/a': { version: '1.0.0', integrity: 'x', optionalDependencies: { 'b-win32-x64': '1.0.0' } },
    'node_modules/a/node_modules/b-win32-x64': { version: '1.0.0', os: ['win32'] },
  })
  t.same(lockFaults(nested, manifest), [])
})

t.test('refuses a package for this system without a checksum', async (t) => {
  const bare = lock({ 'node_modules/b': { version: '1.0.0', os: ['linux'], cpu: ['x64'], libc: ['glibc'] } })
  t.same(lockFaults(bare, manifest), ['node_modules/b has no checksum'])
})

t.test('refuses a lock whose lists are not those of package.json', async (t) => {
  t.same(lockFaults(lock(), { dependencies: { a: '2.0.0' } }), ['dependencies of the lock and of package.json differ'])
})

t.test('takes the wanted Node off an optional package, which npm would leave out for it', async (t) => {
  const entry = { version: '1.0.0', integrity: 'x', optional: true, engines: { node: '>=22' } }
  const picky = lock({ 'node_modules/b': entry })
  t.same(lockFaults(picky, manifest), ['node_modules/b is optional and names the Node it wants'])
  t.same(lockFaults(completed(picky, manifest), manifest), [])
})
