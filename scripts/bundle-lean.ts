/**
 * Keeps out of a bundle, and out of memory, what a daemon never uses. What each plugin saves is measured:
 * docs/decisions/idle-memory-and-speed.md.
 */
import { readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { Loader, Plugin } from 'esbuild'

const require = createRequire(import.meta.url)

/** Modules of Node that packages import for a case of their own: loaded when something of them is first used. */
const LATE = ['http2', 'https', 'tls', 'dgram', 'child_process', 'cluster']

/**
 * Node's modules by `require`: an ES import of one reads all its exports at once, and with those of `http` comes
 * Node's whole fetch, which costs 14 MB.
 */
export function builtinsPlugin(): Plugin {
  return {
    name: 'builtins',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, namespace }) => {
        if (!isBuiltin(path)) return undefined
        return namespace === 'builtin' ? { path, external: true } : { path: nameOf(path), namespace: 'builtin' }
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
        contents: LATE.includes(path) ? lateModule(path) : `module.exports = require('node:${path}')`,
        loader: 'js',
      }))
    },
  }
}

function nameOf(path: string): string {
  return path.replace(/^node:/, '')
}

/** The same names as the module itself, each a getter. The Node that bundles is the one that runs the bundle. */
function lateModule(name: string): string {
  const names = Object.keys(require(`node:${name}`) as object)
  return [
    'let loaded',
    `const load = () => (loaded ??= require('node:${name}'))`,
    `for (const name of ${JSON.stringify(names)})`,
    '  Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] })',
  ].join('\n')
}

/**
 * TypeBox gives `Type` and `Value` as objects that hold everything it can do. Written as namespaces, and with its
 * files known to do nothing by being loaded, only what is called goes into the bundle.
 */
export function typeboxPlugin(): Plugin {
  return {
    name: 'typebox',
    setup(esbuild) {
      esbuild.onLoad({ filter: /\/(kit|daemons|scripts)\/.*\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace(
          /^import \{ (?:type \w+, )*(Type|Value) \} from '(typebox(?:\/value)?)'$/gm,
          "import * as $1 from '$2'",
        ),
        loader: 'ts' satisfies Loader,
      }))
      esbuild.onResolve({ filter: /^typebox/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === 'typebox') return undefined
        const found = await esbuild.resolve(path, { importer, kind, resolveDir, pluginData: 'typebox' })
        return { ...found, sideEffects: false }
      })
      // Its own thousands of imports name files as they lie there: asking esbuild for each would be most of a build's time.
      esbuild.onResolve({ filter: /^\.\.?\/.*\.mjs$/ }, ({ path, importer, resolveDir }) =>
        importer.includes('/node_modules/typebox/') ? { path: join(resolveDir, path), sideEffects: false } : undefined,
      )
    },
  }
}

/** What is left out of a package: who asks, by which names, and what stands in its place. */
interface LeftOut {
  /** Files of the package that ask for it. */
  from: string
  asked: readonly string[]
  contents: string
}

/**
 * What packages have no way of their own to leave out. A stand-in takes the place of whole modules, by their exact names;
 * no source is looked at or changed. That nothing misses them is proven by the end-to-end tests, which drive the built
 * daemons: their metrics, their log, and every function code of Modbus.
 */
const LEFT_OUT: readonly LeftOut[] = [
  // Traces of OpenTelemetry as exemplars of a histogram.
  {
    from: 'prom-client/lib/metrics/processCpuTotal.js',
    asked: ['@opentelemetry/api'],
    contents: 'module.exports = {}',
  },
  // Metrics gathered from workers of node:cluster, and pushed to a gateway instead of being asked for.
  {
    from: 'prom-client/index.js',
    asked: ['./lib/cluster', './lib/pushgateway'],
    contents: 'module.exports = class {}',
  },
  // Fastify asks of each plugin whether it was made for this version; semver's README names modules for that alone.
  {
    from: 'fastify/lib/plugin-utils.js',
    asked: ['semver'],
    contents: ['satisfies', 'gt', 'coerce']
      .map((name) => `exports.${name} = require('semver/functions/${name}')`)
      .join('\n'),
  },
  // Its own check of bodies and writing of answers, which kit/http/server.ts tells it to leave alone.
  {
    from: 'fastify/lib/schema-controller.js',
    asked: ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
    contents: 'module.exports = undefined',
  },
  // Requests that a test makes without a socket.
  { from: 'fastify/fastify.js', asked: ['light-my-request'], contents: 'module.exports = undefined' },
  // Lines that a test makes up.
  { from: 'serialport/dist/index.js', asked: ['./serialport-mock'], contents: 'module.exports = {}' },
  // Log lines written by another thread. kit/log.ts hands in a stream of its own.
  { from: 'pino/lib/tools.js', asked: ['./transport'], contents: 'module.exports = undefined' },
  { from: 'pino/pino.js', asked: ['./lib/transport'], contents: 'module.exports = undefined' },
  // Lines and sockets that it opens by itself, and threads. It is given a port by io/modbus-serial-codec.ts.
  {
    from: 'modbus-serial/index.js',
    asked: [
      './apis/connection',
      './apis/worker',
      './ports/c701port',
      './ports/rtubufferedport',
      './ports/tcpport',
      './ports/tcprtubufferedport',
      './ports/telnetport',
      './ports/testport',
      './servers/serverserial',
      './servers/servertcp',
    ],
    contents: 'module.exports = function () {}',
  },
]

/**
 * Puts the stand-ins in.
 * @throws Error, through esbuild, where a package is bundled and asks for one of them no more: the list stays true
 */
export function leaveOutPlugin(): Plugin {
  return {
    name: 'leave out',
    setup(esbuild) {
      const met = new Set<string>()
      const left = new Set(LEFT_OUT.flatMap(({ from, asked }) => asked.map((path) => `${path} of ${from}`)))
      esbuild.onResolve({ filter: /.*/ }, ({ path, importer, resolveDir }) => {
        const [, asker = ''] = importer.split('/node_modules/')
        met.add(packageOf(asker))
        const one = LEFT_OUT.find(({ from, asked }) => from === asker && asked.includes(path))
        left.delete(`${path} of ${asker}`)
        return one ? { path, namespace: 'left out', pluginData: { ...one, resolveDir } } : undefined
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'left out' }, ({ pluginData }) => ({
        contents: pluginData.contents,
        resolveDir: pluginData.resolveDir,
        loader: 'js',
      }))
      esbuild.onEnd(() => {
        const gone = [...left].filter((name) => met.has(packageOf(name.slice(name.indexOf(' of ') + 4))))
        return { errors: gone.map((name) => ({ text: `nobody asks for ${name} any more: scripts/bundle-lean.ts` })) }
      })
    },
  }
}

/** @param path below node_modules */
function packageOf(path: string): string {
  return path.split('/', 1)[0] ?? ''
}

/** Packages that stand in for a module of Node where that is old. */
export const ALIASES = { 'readable-stream': 'stream' }
