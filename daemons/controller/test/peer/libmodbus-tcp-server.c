/* A Modbus TCP server on libmodbus, the peer of drivers.e2e.test.ts: libmodbus-tcp-server PORT.
 * A hundred coils, inputs and registers; register n holds 3 * n. Prints "ready" once it listens; one client at a time. */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
    if (argc != 2) return 2;
    modbus_t *server = modbus_new_tcp("127.0.0.1", atoi(argv[1]));
    modbus_mapping_t *map = modbus_mapping_new(100, 100, 100, 100);
    if (server == NULL || map == NULL) return 1;
    for (int at = 0; at < 100; at++) {
        map->tab_bits[at] = map->tab_input_bits[at] = at % 3 == 0;
        map->tab_registers[at] = map->tab_input_registers[at] = 3 * at;
    }
    int listener = modbus_tcp_listen(server, 4);
    if (listener < 0) {
        fprintf(stderr, "%s\n", modbus_strerror(errno));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        if (modbus_tcp_accept(server, &listener) < 0) break;
        for (;;) {
            int length = modbus_receive(server, query);
            if (length < 0) break;
            if (length > 0) modbus_reply(server, query, length, map);
        }
        modbus_close(server);
    }
    return 0;
}
