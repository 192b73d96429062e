"""Times training steps of the same net in torch, forward, backward and AdamW:

HEIGHT WIDTH PLANES POLICY_PLANES BLOCKS CHANNELS POOL_EVERY BATCH SECONDS THREADS.

Prints samples per CPU-second of the process, the first steps left out.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

H, W, PLANES, POLICY, BLOCKS, C, EVERY, BATCH = map(int, sys.argv[1:9])
SECONDS, THREADS = float(sys.argv[9]), int(sys.argv[10])
torch.set_num_threads(THREADS)
torch.set_num_interop_threads(1)
torch.manual_seed(1)


def pooled(x):
    return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)


class Block(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(C, C, 3, padding=1), nn.Conv2d(C, C, 3, padding=1)
        self.pool = nn.Linear(2 * C, C, bias=False) if pool else None

    def forward(self, x):
        y = F.relu(self.conv1(x))
        z = self.conv2(y)
        if self.pool is not None:
            z = z + self.pool(pooled(y))[:, :, None, None]
        return F.relu(z + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(PLANES, C, 3, padding=1)
        self.body = nn.Sequential(*[Block(EVERY > 0 and (i + 1) % EVERY == 0) for i in range(BLOCKS)])
        self.policy, self.pool, self.move = nn.Conv2d(C, C, 1), nn.Linear(2 * C, C, bias=False), nn.Conv2d(C, POLICY, 1)
        self.value, self.hidden, self.out = nn.Conv2d(C, 16, 1), nn.Linear(H * W * 16, 64), nn.Linear(64, 4)

    def forward(self, x):
        x = self.body(F.relu(self.stem(x)))
        p = self.move(F.relu(self.policy(x) + self.pool(pooled(x))[:, :, None, None]))
        v = self.out(F.relu(self.hidden(F.relu(self.value(x)).flatten(1))))
        return p.flatten(1), v


net = Net()
optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=1e-4)
planes = (torch.rand(BATCH, PLANES, H, W) < 0.1).float()
legal = torch.rand(BATCH, H * W * POLICY) < 0.03
legal[:, 0] = True
target = torch.rand(BATCH, H * W * POLICY) * legal
target /= target.sum(1, keepdim=True)
result = torch.randint(3, (BATCH,))


def step():
    optimiser.zero_grad(set_to_none=True)
    p, v = net(planes)
    policy = -(target * F.log_softmax(p.masked_fill(~legal, -1e9), 1)).sum(1).mean()
    loss = policy + F.cross_entropy(v[:, :3], result) + 0.1 * F.huber_loss(F.softplus(v[:, 3]), torch.ones(BATCH))
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()


step()
step()
start, steps = time.process_time(), 0
while steps == 0 or time.process_time() - start < SECONDS:
    step()
    steps += 1
print(steps * BATCH / (time.process_time() - start))
