import { measureIdleMemory } from './memory.ts'
console.log(await measureIdleMemory({ ports: 4, idleMs: 18000 }))
