/** serialport's binding types, which its package gives to CommonJS alone. */
export * from '@serialport/bindings-interface'
